// What a viewer gets before it follows the feed: earlier output with its sizes, or the screen.
import { z } from "zod";
import { collectBytes } from "../../lib/data/collect.ts";
import { ServiceError, unless } from "../../protocol/errors.ts";
import { type ResizeEvent, resizeEvent } from "../../protocol/frame/event.ts";
import { decodeJson, type Subscribe } from "../../protocol/frame/payload.ts";
import { decodeResync, type Resync } from "../../protocol/frame/resync.ts";
import { parseSize, type TerminalSize } from "../../protocol/schemas/session.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed } from "../feed.ts";

/** Limit for the journal's events; a session with more is shown without its earlier sizes. */
const MAX_EVENTS_BYTES = 16 * 1024 * 1024;

const MAX_RESYNC_BYTES = 64 * 1024 * 1024;

/** Shown instead of missing output of a session that is not recorded. */
const LOSS_MARKER = new TextEncoder().encode("\x1b[7m[output before this may be missing]\x1b[0m\r\n");

const JournalEvents = z.array(
  z.looseObject({ offset: z.int(), kind: z.string(), data: z.string().optional() }),
);

type HistorySize = TerminalSize & { readonly offset: number };

/** A piece of the output, or a resize before the next piece. */
type HistoryPiece = Uint8Array | ResizeEvent;

export async function historySizes(
  backend: SessionBackend,
  sessionId: string,
  from: number,
  signal: AbortSignal,
): Promise<readonly HistorySize[]> {
  const view = { kind: "events", from } as const;
  const content = await backend.view(sessionId, view, signal).catch(unless("range_not_satisfiable"));
  const events = content && (await journalEvents(content.body));
  // Unlike a parse, this ends with the first wrong event, of which another server may send millions.
  if (!JournalEvents.validate(events)) return [];
  return events.flatMap(({ kind, offset, data }) => {
    const size = kind === "r" ? parseSize(data) : undefined;
    return size === undefined ? [] : [{ offset, ...size }];
  });
}

async function journalEvents(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  try {
    return decodeJson(await collectBytes(body, MAX_EVENTS_BYTES), MAX_EVENTS_BYTES);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/**
 * Reads the output from byte `from` up to the feed's window; `hasSizes`: with the resizes in their places. Ends early if the
 * output is not held any more.
 */
export async function* readHistory(
  backend: SessionBackend,
  { sessionId, start: to, sizesAtStart }: Pick<Feed, "sessionId" | "start" | "sizesAtStart">,
  { from, hasSizes }: { readonly from: number; readonly hasSizes: boolean },
  signal: AbortSignal,
): AsyncGenerator<HistoryPiece, undefined> {
  const found = hasSizes ? await historySizes(backend, sessionId, from, signal) : [];
  const earlier = found.filter((size) => size.offset <= to);
  const atEnd = earlier.filter((size) => size.offset === to).length;
  // The last ones are in the window as well.
  const sizes = earlier.slice(0, earlier.length - Math.min(atEnd, sizesAtStart));
  let offset = from;
  // Not shift, which would move all others: a session may have hundreds of thousands.
  let next = 0;
  for await (const bytes of await readOutput(backend, sessionId, { from, to }, signal)) {
    let rest = bytes;
    for (let size = sizes[next]; size && size.offset < offset + rest.length; size = sizes[next]) {
      const before = rest.subarray(0, size.offset - offset);
      if (before.length > 0) yield before;
      yield resizeEvent(size);
      [offset, rest] = [offset + before.length, rest.subarray(before.length)];
      next += 1;
    }
    offset += rest.length;
    if (rest.length > 0) yield rest;
  }
  if (offset === to) yield* sizes.slice(next).map(resizeEvent);
  return undefined;
}

/** Empty if it is not held any more. */
export async function readOutput(
  backend: SessionBackend,
  sessionId: string,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const view = { kind: "output", from, to } as const;
  const content = await backend.view(sessionId, view, signal).catch(unless("range_not_satisfiable"));
  signal.throwIfAborted();
  return content?.body ?? nothing();
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/**
 * Whether a client gets the screen instead of output from its offset. Offsets of an unrecorded session begin with the feed:
 * one from an earlier feed has no meaning, and the one from which a share may see the output is not known. An offset beyond
 * all output of a running session is that of an earlier session with its id. `known`: as in `Subscription.apply`.
 */
export function isUnknownOffset(
  { isRecorded, end, record }: Pick<Feed, "isRecorded" | "end" | "record">,
  { from }: Pick<Subscribe, "from">,
  { known, isLiveOnly }: { readonly known: number; readonly isLiveOnly: boolean },
): boolean {
  const offset = typeof from === "number" ? from : 0;
  if (isRecorded) return offset > Math.max(end, known) && record.status !== "exited";
  return isLiveOnly || offset > 0;
}

/** The screen in place of output that is not held any more or is too far behind. `isLiveOnly`: the client may not see earlier output. */
export async function readScreen(
  feed: Feed,
  backend: SessionBackend,
  isLiveOnly: boolean,
  signal: AbortSignal,
): Promise<Resync> {
  if (!feed.isRecorded) return unrecordedScreen(feed, isLiveOnly);
  const { body } = await backend.view(feed.sessionId, { kind: "resync" }, signal);
  const payload = await collectBytes(body, MAX_RESYNC_BYTES);
  try {
    return decodeResync(payload);
  } catch (cause) {
    // The screen came from another server, so the client is not at fault.
    throw new ServiceError("internal_error", "the screen of the session cannot be decoded", { cause });
  }
}

/** The screen of an unrecorded session is unknown: returns an empty one with a marker if output is missing. */
function unrecordedScreen({ isWhole, start, end, record }: Feed, isLiveOnly: boolean): Resync {
  const { cols, rows } = record;
  const bytes = isWhole && !isLiveOnly ? new Uint8Array() : LOSS_MARKER;
  return { offset: isLiveOnly ? end : start, size: { cols, rows }, bytes };
}
