// Views that are not part of the page's first load.
import type { VNode } from "preact";
import { useLoaded } from "../components/loaded.ts";
import type { WorkspaceProps } from "./view-props.ts";

type View = { readonly View: (props: WorkspaceProps) => VNode };

const LOADERS = {
  account: () => import("../account/account-view.tsx").then(({ AccountView: View }) => ({ View })),
  audit: () => import("../audit/audit-view.tsx").then(({ AuditView: View }) => ({ View })),
  machines: () => import("../machines/machines-view.tsx").then(({ MachinesView: View }) => ({ View })),
  usage: () => import("../account/usage-view.tsx").then(({ UsageView: View }) => ({ View })),
  worktrees: () => import("../worktrees/worktrees-view.tsx").then(({ WorktreesView: View }) => ({ View })),
} satisfies Readonly<Record<string, () => Promise<View>>>;

export type LazyViewName = keyof typeof LOADERS;

export function isLazyView(view: string): view is LazyViewName {
  return view in LOADERS;
}

/** Needs a `key`: each view is a different component. */
export function LazyView({
  page,
  workspace,
  view,
}: WorkspaceProps & { readonly view: LazyViewName }): VNode | undefined {
  const code = useLoaded<View>(LOADERS[view], (error) =>
    page.notices.failed("This view did not load; reload the page", error),
  );
  return code && <code.View page={page} workspace={workspace} />;
}
