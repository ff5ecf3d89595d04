import { collectBytes } from "../lib/collect.ts";
import { MAX_REPLAY_BYTES } from "../protocol/limits.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import { lastClearPoint } from "./clear-point.ts";

/** Where the history of a client without offsets begins. */
export type Replay =
  | { readonly kind: "bytes"; readonly offset: number; readonly prefix: Uint8Array }
  /** There is too much of it, or it is not held any more: the screen is drawn instead. */
  | { readonly kind: "screen" };

/** History since the last clear of the screen, at most 1 MiB of it (contract 1.7). `end` is the end of the output. */
export async function planReplay(
  backend: SessionBackend,
  sessionId: string,
  end: number,
  signal: AbortSignal,
): Promise<Replay> {
  const from = Math.max(0, end - MAX_REPLAY_BYTES);
  const content = await backend.view(sessionId, { kind: "output", from, to: end }, signal);
  const bytes = await collectBytes(content.body, MAX_REPLAY_BYTES);
  if (bytes.length < end - from) return { kind: "screen" };
  const clear = lastClearPoint(bytes);
  if (clear !== undefined) {
    return { kind: "bytes", offset: from + clear.index, prefix: new TextEncoder().encode(clear.modes) };
  }
  return from === 0 ? { kind: "bytes", offset: 0, prefix: new Uint8Array(0) } : { kind: "screen" };
}
