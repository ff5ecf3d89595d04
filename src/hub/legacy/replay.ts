import { collectBytes } from "../../lib/data/collect.ts";
import { MAX_REPLAY_BYTES } from "../../protocol/limits.ts";
import type { SessionRecord, TerminalSize } from "../../protocol/schemas/session.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed } from "../feed.ts";
import { historySizes, readOutput } from "../viewer/history.ts";
import { lastClearPoint } from "./clear-point.ts";

/** The beginning of the history of a client without offsets, and on request the size of the terminal there. */
type Replay = {
  readonly offset: number;
  readonly prefix: Uint8Array;
  readonly size: TerminalSize | undefined;
};

const NOTHING = new Uint8Array();

/**
 * The history since the last clear of the screen (contract 1.7). Undefined if it exceeds 1 MiB or is not held any more; the
 * client then gets the screen instead.
 */
export async function planReplay(
  backend: SessionBackend,
  feed: Pick<Feed, "sessionId" | "isRecorded" | "isWhole" | "start" | "end">,
  hasSize: boolean,
  signal: AbortSignal,
): Promise<Replay | undefined> {
  const { sessionId, end } = feed;
  if (!feed.isRecorded)
    return feed.isWhole ? { offset: feed.start, prefix: NOTHING, size: undefined } : undefined;
  const from = Math.max(0, end - MAX_REPLAY_BYTES);
  const output = await readOutput(backend, sessionId, { from, to: end }, signal);
  const bytes = await collectBytes(output, MAX_REPLAY_BYTES);
  const clear = lastClearPoint(bytes);
  if (bytes.length < end - from || (clear === undefined && from > 0)) return undefined;
  const offset = from + (clear?.index ?? 0);
  const sizes = hasSize ? await historySizes(backend, sessionId, 0, signal) : [];
  const size = sizes.findLast((earlier) => earlier.offset <= offset);
  return { offset, prefix: new TextEncoder().encode(clear?.modes), size };
}

/** The header of the recording, the first event of a client with Stdout and Events (facts 1.8). */
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
