import type { VNode } from "preact";
import { Banner } from "./banner.tsx";
import type { SessionProps } from "./view-props.ts";

/** On an HQ: there while the machine of the session that is open is out of reach, and until the session is there again. */
export function MachineBanner({ workspace, open }: Omit<SessionProps, "page">): VNode | undefined {
  const isAway = open.contact.isAway.value;
  const isLost = workspace.machines.all.value !== undefined && open.phase.value.kind === "failed";
  // Without a connection nothing is known about machines, and the other banner says so.
  if (workspace.connection.value.kind !== "open" || !(isAway || isLost)) return undefined;
  const name = workspace.sessions.record(open.id)?.source ?? "The machine";
  const words = isAway ? `${name} is out of reach. The session goes on when it is back.` : `Back to ${name}…`;
  return <Banner words={words} refusals={open.contact.refusals.value} />;
}
