// The screen that a viewer gets instead of output that is not held any more or is too far behind.
import { collectBytes } from "../../lib/data/collect.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { decodeResync, encodeResync, type Resync } from "../../protocol/frame/resync.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed } from "../feed.ts";

const MAX_RESYNC_BYTES = 64 * 1024 * 1024;

/** Shown instead of missing output of a session that is not recorded. */
const LOSS_MARKER = new TextEncoder().encode("\x1b[7m[output before this may be missing]\x1b[0m\r\n");

/** A RESYNC payload and its fields. */
export type Screen = { readonly payload: Uint8Array; readonly resync: Resync };

/** `isLiveOnly`: the client may not see the output so far. */
export async function readScreen(
  feed: Feed,
  backend: SessionBackend,
  isLiveOnly: boolean,
  signal: AbortSignal,
): Promise<Screen> {
  if (!feed.isRecorded) return unrecordedScreen(feed, isLiveOnly);
  const { body } = await backend.view(feed.sessionId, { kind: "resync" }, signal);
  const payload = await collectBytes(body, MAX_RESYNC_BYTES);
  try {
    return { payload, resync: decodeResync(payload) };
  } catch (cause) {
    // The screen came from another server, so the client is not at fault.
    throw new ServiceError("internal_error", "the screen of the session cannot be decoded", { cause });
  }
}

/** The screen of an unrecorded session is unknown: returns an empty one with a marker if output is missing. */
function unrecordedScreen({ isWhole, start, end, record }: Feed, isLiveOnly: boolean): Screen {
  const { cols, rows } = record;
  const bytes = isWhole && !isLiveOnly ? new Uint8Array() : LOSS_MARKER;
  const offset = isLiveOnly ? end : start;
  return screenAt(offset, { offset, size: { cols, rows }, bytes });
}

/** The same screen at another offset. */
export function screenAt(offset: number, screen: Resync): Screen {
  const resync = { ...screen, offset };
  return { payload: encodeResync(resync), resync };
}
