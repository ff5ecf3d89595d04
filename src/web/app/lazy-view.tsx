// Views that are not part of the page's first load.
import type { VNode } from "preact";
import { lazy } from "../components/lazy.tsx";
import type { WorkspaceProps } from "./view-props.ts";

const WHAT = "This view";

type LazyViewProps = WorkspaceProps & { readonly onClose: () => void };

export const LAZY_VIEWS: ReadonlyMap<string, (props: LazyViewProps) => VNode | undefined> = new Map([
  ["account", lazy(WHAT, async () => (await import("../account/account-view.tsx")).AccountView)],
  ["audit", lazy(WHAT, async () => (await import("../audit/audit-view.tsx")).AuditView)],
  ["machines", lazy(WHAT, async () => (await import("../machines/machines-view.tsx")).MachinesView)],
  ["usage", lazy(WHAT, async () => (await import("../account/usage-view.tsx")).UsageView)],
  ["worktrees", lazy(WHAT, async () => (await import("../worktrees/worktrees-view.tsx")).WorktreesView)],
]);
