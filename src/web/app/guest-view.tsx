import type { VNode } from "preact";
import { MachineBanner } from "../machines/machine-banner.tsx";
import { SessionView } from "../session/session-view.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import type { WorkspaceProps } from "./view-props.ts";

/** The one session that a link opens, and nothing beside it. */
export function GuestView({ page, workspace }: WorkspaceProps): VNode {
  const open = workspace.open.value;
  return (
    <main class="stage guest">
      {open === undefined ? (
        <NoSession workspace={workspace} />
      ) : (
        <SessionView key={open.id} page={page} workspace={workspace} open={open} />
      )}
      {open !== undefined && <MachineBanner workspace={workspace} open={open} />}
      <ConnectionBanner workspace={workspace} refusals={open?.reachability.refusals.value ?? 0} />
    </main>
  );
}

function NoSession({ workspace }: Pick<WorkspaceProps, "workspace">): VNode {
  if (workspace.sessions.all.value === undefined) {
    return <output class="splash" aria-label="Opening the session" />;
  }
  return (
    <div class="missing">
      <h1>The session is gone</h1>
      <p class="muted">Whoever shared it has removed it.</p>
    </div>
  );
}
