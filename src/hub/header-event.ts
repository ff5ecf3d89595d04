import type { SessionRecord } from "../protocol/session.ts";

/** What opens the history of a client with Stdout and Events (facts 1.8): the recording's header. */
export function headerEvent(record: SessionRecord): object {
  const timestamp = Math.floor(Date.parse(record.created) / 1000);
  const command = record.command.join(" ");
  const header = {
    version: 2,
    width: record.cols,
    height: record.rows,
    timestamp,
    command,
    title: record.name,
  };
  return { kind: "header", header };
}
