// One record of a journal's `events` file: a line of JSON, which people can read. A torn one does not parse.

import type { ExitReason } from "../../protocol/schemas/session.ts";

/** o: output up to offset. r: "COLSxROWS". m: a marker. i: input. x: the exit (`exitData`). g: a gap up to offset. */
const KINDS = ["o", "r", "m", "i", "x", "g"] as const;

export type JournalEvent = {
  /** Seconds since the session began, with microseconds. */
  readonly time: number;
  /** Bytes of output before the event; for output: after it. */
  readonly offset: number;
  readonly kind: (typeof KINDS)[number];
  readonly data?: string;
};

export function eventLine(event: JournalEvent): string {
  const data = event.data === undefined ? "" : `,${JSON.stringify(event.data)}`;
  return `[${event.time.toFixed(6)},${event.offset},"${event.kind}"${data}]\n`;
}

/** Undefined for an incomplete record. */
export function parseEventLine(line: string): JournalEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const [time, offset, letter, data]: unknown[] = value;
  const kind = KINDS.find((each) => each === letter);
  if (typeof time !== "number" || typeof offset !== "number" || kind === undefined) return undefined;
  return typeof data === "string" ? { time, offset, kind, data } : { time, offset, kind };
}

export type JournalExit = {
  readonly code: number;
  readonly reason: ExitReason;
  readonly signal?: string | undefined;
};

/** "CODE", "CODE SIGNAL" or "CODE host_lost". */
export function exitData({ code, reason, signal }: JournalExit): string {
  if (reason === "host_lost") return `${code} host_lost`;
  return signal === undefined ? `${code}` : `${code} ${signal}`;
}

export function parseExitData(data: string): JournalExit {
  const [number, cause] = data.split(" ");
  const code = Number.parseInt(number ?? "", 10) || 0;
  if (cause === undefined) return { code, reason: "exit" };
  return cause === "host_lost" ? { code, reason: cause } : { code, reason: "signal", signal: cause };
}

export type Gap = { readonly from: number; readonly to: number };

export function gapEvent({ from, to }: Gap, time: number): JournalEvent {
  return { time, offset: to, kind: "g", data: `${from}` };
}

/** Undefined for other events and empty gaps. */
export function gapOf({ kind, offset, data }: JournalEvent): Gap | undefined {
  if (kind !== "g") return undefined;
  const from = Number.parseInt(data ?? "", 10);
  return from >= 0 && from < offset ? { from, to: offset } : undefined;
}

export function gapLabel({ from, to }: Gap): string {
  return `recording interrupted: ${to - from} bytes of output are missing here`;
}

/** Missing bytes before `offset`, by default all. `gaps` are in order. */
export function lostBefore(gaps: readonly Gap[], offset = Number.POSITIVE_INFINITY): number {
  let lost = 0;
  for (const { from, to } of gaps) lost += Math.max(0, Math.min(to, offset) - from);
  return lost;
}

/** The position in the file `output` of the byte at `offset`, even of a missing one. */
export function positionOf(gaps: readonly Gap[], offset: number): number {
  return offset - lostBefore(gaps, offset);
}
