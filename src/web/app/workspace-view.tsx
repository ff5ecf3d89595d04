import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { lazy } from "../components/lazy.tsx";
import { useToggle } from "../components/toggle.ts";
import type { Panes } from "../layout/panes.ts";
import { PanesView } from "../layout/panes-view.tsx";
import { PreviewGrid } from "../previews/preview-grid.tsx";
import { NewSession } from "../sessions/new-session.tsx";
import { Switcher } from "../sessions/session-finder.tsx";
import { Sidebar } from "../sessions/sidebar.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import { routeHash } from "./route.ts";
import type { UserAccess, WorkspaceProps } from "./view-props.ts";

const LAZY = "This view";

type LazyViewProps = WorkspaceProps & { readonly onClose: () => void };

/** Views that are not part of the page's first load. */
const LAZY_VIEWS: ReadonlyMap<string, (props: LazyViewProps) => VNode | undefined> = new Map([
  ["account", lazy(LAZY, async () => (await import("../account/account-view.tsx")).AccountView)],
  ["audit", lazy(LAZY, async () => (await import("../audit/audit-view.tsx")).AuditView)],
  ["machines", lazy(LAZY, async () => (await import("../machines/machines-view.tsx")).MachinesView)],
  ["usage", lazy(LAZY, async () => (await import("../account/usage-view.tsx")).UsageView)],
  ["worktrees", lazy(LAZY, async () => (await import("../worktrees/worktrees-view.tsx")).WorktreesView)],
]);

/** The list beside the open session; on a narrow screen one of them, depending on the address. */
export function WorkspaceView({
  page,
  workspace,
  access,
}: WorkspaceProps & { readonly access: UserAccess }): VNode {
  const route = page.address.route.value;
  const { panes } = workspace;
  const layout = panes.layout.value;
  const LazyView = LAZY_VIEWS.get(route.view);
  const sidebar = useRef<HTMLDivElement>(null);
  const finding = useToggle();
  useShortcuts({
    list: () => {
      // On a narrow page the list has a view of its own.
      if (page.narrow.matches.peek()) return page.address.go({ view: "list" });
      const first = sidebar.current?.querySelector<HTMLElement>("nav a[aria-current=page]");
      (first ?? sidebar.current?.querySelector<HTMLElement>("nav a, a"))?.focus();
    },
    find: finding.on,
    panes,
  });
  return (
    <div class={`workspace view-${route.view}`}>
      <Sidebar page={page} workspace={workspace} access={access} root={sidebar} />
      <main class="stage">
        {layout !== undefined ? (
          <PanesView page={page} workspace={workspace} layout={layout} />
        ) : LazyView !== undefined ? (
          <LazyView
            key={routeHash(route)}
            {...{ page, workspace }}
            onClose={() => page.address.go({ view: "list" })}
          />
        ) : route.view === "previews" ? (
          <PreviewGrid page={page} workspace={workspace} />
        ) : (
          <NewSession page={page} workspace={workspace} />
        )}
        <ConnectionBanner
          workspace={workspace}
          refusals={panes.focused.value?.reachability.refusals.value ?? 0}
        />
      </main>
      {finding.isOn && <Switcher workspace={workspace} onClose={finding.off} />}
    </div>
  );
}

type Shortcuts = {
  readonly list: () => void;
  readonly find: () => void;
  readonly panes: Panes;
};

type Actions = Readonly<Record<string, () => void>>;

/** Shortcuts with Ctrl+Shift, handled before the terminal, which takes every other key. Terminals do not use Cmd+K. */
function useShortcuts({ list, find, panes }: Shortcuts): void {
  useLayoutEffect(() => {
    const always: Actions = {
      KeyL: list,
      KeyK: find,
      KeyE: () => panes.split("row"),
      KeyO: () => panes.split("column"),
      KeyH: () => panes.goBackInTime(),
      ArrowDown: () => panes.goToNeighbour(1),
      ArrowUp: () => panes.goToNeighbour(-1),
    };
    // With one pane the program gets these keys.
    const amongSeveral: Actions = {
      KeyX: () => panes.closeFocused(),
      ArrowLeft: () => panes.stepFocus(-1),
      ArrowRight: () => panes.stepFocus(1),
      PageUp: () => panes.stepTab(-1),
      PageDown: () => panes.stepTab(1),
    };
    const listen = (event: KeyboardEvent): void => {
      const isFind = event.code === "KeyK" && event.metaKey;
      const action = always[event.code] ?? (panes.areSeveral ? amongSeveral[event.code] : undefined);
      if (!isFind && !(event.shiftKey && !event.altKey && (event.ctrlKey || event.metaKey))) return;
      if (action === undefined || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    };
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
    // The first callbacks behave like all later ones.
  }, []);
}
