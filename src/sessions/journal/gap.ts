// Output that a journal does not have, because the disk took nothing while it came.
import type { JournalEvent } from "./event.ts";

/** From one offset up to, not including, another. */
export type Gap = { readonly from: number; readonly to: number };

export function gapEvent({ from, to }: Gap, time: number): JournalEvent {
  return { time, offset: to, kind: "g", data: `${from}` };
}

/** Undefined for another event, and for one that tells of no gap. */
export function gapOf({ kind, offset, data }: JournalEvent): Gap | undefined {
  if (kind !== "g") return undefined;
  const from = Number.parseInt(data ?? "", 10);
  return from >= 0 && from < offset ? { from, to: offset } : undefined;
}

/** What people read where the output is missing. */
export function gapLabel({ from, to }: Gap): string {
  return `recording interrupted: ${to - from} bytes of output are missing here`;
}

/** Bytes that are missing before `offset`. `gaps` are in order. */
export function lostBefore(gaps: readonly Gap[], offset: number): number {
  let lost = 0;
  for (const { from, to } of gaps) lost += Math.max(0, Math.min(to, offset) - from);
  return lost;
}

/** Where the byte at `offset` is in the file `output`; of one that is missing: where it would be. */
export function positionOf(gaps: readonly Gap[], offset: number): number {
  return offset - lostBefore(gaps, offset);
}
