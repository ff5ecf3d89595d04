// Views that are not part of the page's first load.
import type { VNode } from "preact";
import { useLoaded } from "../components/loaded.ts";
import type { WorkspaceProps } from "./view-props.ts";

type View = { readonly View: (props: WorkspaceProps) => VNode };

const LOADERS = {
  account: async (): Promise<View> => {
    const { AccountView } = await import("../account/account-view.tsx");
    return { View: AccountView };
  },
  audit: async (): Promise<View> => {
    const { AuditView } = await import("../audit/audit-view.tsx");
    return { View: AuditView };
  },
  machines: async (): Promise<View> => {
    const { MachinesView } = await import("../machines/machines-view.tsx");
    return { View: MachinesView };
  },
  usage: async (): Promise<View> => {
    const { UsageView } = await import("../account/usage-view.tsx");
    return { View: UsageView };
  },
  worktrees: async (): Promise<View> => {
    const { WorktreesView } = await import("../worktrees/worktrees-view.tsx");
    return { View: WorktreesView };
  },
} as const;

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
  const code = useLoaded(LOADERS[view], (error) =>
    page.notices.failed("This view did not load; reload the page", error),
  );
  return code && <code.View page={page} workspace={workspace} />;
}
