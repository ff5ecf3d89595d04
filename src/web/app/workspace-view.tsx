import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useToggle } from "../components/toggle.ts";
import { MachineBanner } from "../machines/machine-banner.tsx";
import { PreviewGrid } from "../previews/preview-grid.tsx";
import { SessionView } from "../session/session-view.tsx";
import { NewSession } from "../sessions/new-session.tsx";
import { Sidebar } from "../sessions/sidebar.tsx";
import { Switcher } from "../sessions/switcher.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import { isLazyView, LazyView } from "./lazy-view.tsx";
import { routeHash } from "./route.ts";
import type { UserAccess, WorkspaceProps } from "./view-props.ts";

/** The list beside what is open; on a narrow screen the one or the other, as the address says. */
export function WorkspaceView({
  page,
  workspace,
  access,
}: WorkspaceProps & { readonly access: UserAccess }): VNode {
  const route = page.address.route.value;
  const open = workspace.open.value;
  const sidebar = useRef<HTMLElement>(null);
  const finding = useToggle();
  useShortcuts({
    list: () => {
      const first = sidebar.current?.querySelector<HTMLElement>("nav a[aria-current]");
      (first ?? sidebar.current?.querySelector<HTMLElement>("nav a, a"))?.focus();
    },
    find: finding.on,
    neighbour: (direction) => workspace.goToNeighbour(direction),
  });
  return (
    <div class={`workspace view-${route.view}`}>
      <Sidebar page={page} workspace={workspace} access={access} root={sidebar} />
      <main class="stage">
        {open !== undefined ? (
          <SessionView key={open.id} page={page} workspace={workspace} open={open} />
        ) : isLazyView(route.view) ? (
          <LazyView key={routeHash(route)} page={page} workspace={workspace} view={route.view} />
        ) : route.view === "previews" ? (
          <PreviewGrid page={page} workspace={workspace} />
        ) : (
          <NewSession page={page} workspace={workspace} />
        )}
        {open !== undefined && <MachineBanner workspace={workspace} open={open} />}
        <ConnectionBanner workspace={workspace} refusals={open?.reachability.refusals.value ?? 0} />
      </main>
      {finding.isOn && <Switcher workspace={workspace} onClose={finding.off} />}
    </div>
  );
}

type Shortcuts = {
  readonly list: () => void;
  readonly find: () => void;
  readonly neighbour: (direction: 1 | -1) => void;
};

/** With Ctrl+Shift, before the terminal sees it, which takes every other key; Cmd+K is no key of a terminal. */
function useShortcuts({ list, find, neighbour }: Shortcuts): void {
  useEffect(() => {
    const actions: Readonly<Record<string, () => void>> = {
      KeyL: list,
      KeyK: find,
      ArrowDown: () => neighbour(1),
      ArrowUp: () => neighbour(-1),
    };
    const listen = (event: KeyboardEvent): void => {
      const isFind = event.code === "KeyK" && event.metaKey;
      const action = actions[event.code];
      if (!isFind && !(event.shiftKey && !event.altKey && (event.ctrlKey || event.metaKey))) return;
      if (action === undefined || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    };
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
    // The first ones do what each later ones do.
  }, []);
}
