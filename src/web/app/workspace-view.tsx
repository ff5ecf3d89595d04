import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { MachineBanner } from "../machines/machine-banner.tsx";
import { SessionView } from "../session/session-view.tsx";
import { NewSession } from "../sessions/new-session.tsx";
import { Sidebar } from "../sessions/sidebar.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import type { UserAccess, WorkspaceProps } from "./view-props.ts";

/** The list beside what is open; on a narrow screen the one or the other, as the address says. */
export function WorkspaceView({
  page,
  workspace,
  access,
}: WorkspaceProps & { readonly access: UserAccess }): VNode {
  const route = page.address.route.value;
  const open = workspace.open.value;
  const sidebar = useListKey();
  return (
    <div class={`workspace view-${route.view}`}>
      <Sidebar page={page} workspace={workspace} access={access} root={sidebar} />
      <main class="stage">
        {open === undefined ? (
          <NewSession page={page} workspace={workspace} />
        ) : (
          <SessionView key={open.id} page={page} workspace={workspace} open={open} />
        )}
        {open !== undefined && <MachineBanner workspace={workspace} open={open} />}
        <ConnectionBanner workspace={workspace} refusals={open?.reachability.refusals.value ?? 0} />
      </main>
    </div>
  );
}

/** Ctrl+Shift+L leads from the terminal, which takes every other key, to the list. */
function useListKey() {
  const sidebar = useRef<HTMLElement>(null);
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.code !== "KeyL" || !event.shiftKey || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      event.stopPropagation();
      const first = sidebar.current?.querySelector<HTMLElement>("nav a[aria-current]");
      (first ?? sidebar.current?.querySelector<HTMLElement>("nav a, a"))?.focus();
    };
    // Before the terminal sees it.
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
  }, []);
  return sidebar;
}
