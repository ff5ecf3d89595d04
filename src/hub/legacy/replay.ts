import { collectBytes } from "../../lib/data/collect.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_REPLAY_BYTES } from "../../protocol/limits.ts";
import type { TerminalSize } from "../../protocol/schemas/session.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import { historySizes } from "../viewer/history.ts";
import { lastClearPoint } from "./clear-point.ts";

/** Where the history of a client without offsets begins. */
export type Replay =
  /** `size`: of the terminal there, when it was asked for. */
  | {
      readonly kind: "bytes";
      readonly offset: number;
      readonly prefix: Uint8Array;
      readonly size: TerminalSize | undefined;
    }
  /** There is too much of it, or it is not held any more: the screen is drawn instead. */
  | { readonly kind: "screen" };

/** History since the last clear of the screen, at most 1 MiB of it (contract 1.7). `end` is the end of the output. */
export async function planReplay(
  backend: SessionBackend,
  sessionId: string,
  { end, hasSize }: { readonly end: number; readonly hasSize: boolean },
  signal: AbortSignal,
): Promise<Replay> {
  const from = Math.max(0, end - MAX_REPLAY_BYTES);
  const bytes = await heldOutput(backend, sessionId, from, end, signal);
  if (bytes === undefined) return { kind: "screen" };
  const clear = lastClearPoint(bytes);
  if (clear === undefined && from > 0) return { kind: "screen" };
  const offset = from + (clear?.index ?? 0);
  const sizes = hasSize ? await historySizes(backend, sessionId, 0, signal) : [];
  const size = sizes.findLast((past) => past.offset <= offset);
  return { kind: "bytes", offset, prefix: new TextEncoder().encode(clear?.modes), size };
}

/** Undefined when not all of it is held any more. */
async function heldOutput(
  backend: SessionBackend,
  sessionId: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  try {
    const { body } = await backend.view(sessionId, { kind: "output", from, to }, signal);
    const bytes = await collectBytes(body, MAX_REPLAY_BYTES);
    return bytes.length < to - from ? undefined : bytes;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "range_not_satisfiable") return undefined;
    throw error;
  }
}
