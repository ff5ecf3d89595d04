import type { SessionRecord, TerminalSize } from "../../protocol/schemas/session.ts";

/** What opens the history of a client with Stdout and Events (facts 1.8): the recording's header. `size`: at its begin. */
export function headerEvent(record: SessionRecord, size: TerminalSize): object {
  const header = {
    version: 2,
    width: size.cols,
    height: size.rows,
    timestamp: Math.floor(Date.parse(record.created) / 1000),
    command: record.command.join(" "),
    title: record.name,
  };
  return { kind: "header", header };
}
