import type { VNode } from "preact";
import type { SessionProps } from "../app/view-props.ts";
import { Banner } from "../components/banner.tsx";
import { Button } from "../components/button.tsx";

/**
 * Shown while the open session is unavailable: at an HQ while its machine is unreachable and until the session is back,
 * elsewhere when it was refused.
 */
export function MachineBanner({ workspace, open }: Omit<SessionProps, "page">): VNode | undefined {
  const isAway = open.reachability.isUnreachable.value;
  const isLost = open.phase.value.kind === "failed";
  // Without a connection the state of machines is unknown, and the other banner says so.
  if (workspace.connection.value.kind !== "open" || !(isAway || isLost)) return undefined;
  const isHq = workspace.machines.all.value !== undefined;
  const name = workspace.sessions.record(open.id)?.source ?? "The machine";
  const back = isHq ? `Back to ${name}…` : "The session could not be opened.";
  const words = isAway
    ? `${name} is offline. The session keeps running; you are reconnected when the machine is back online.`
    : back;
  return (
    <Banner words={words} refusals={open.reachability.refusals.value}>
      {!isAway && (
        <Button look="small" onClick={() => open.retry()}>
          Try again
        </Button>
      )}
    </Banner>
  );
}
