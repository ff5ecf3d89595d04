// One record of a journal's `events` file: a line of JSON, so that a person can read it and a torn one is seen.

/** o: output up to offset. r: "COLSxROWS". m: a marker. i: input. x: the exit, "CODE" or "CODE SIGNAL". */
export type JournalEventKind = "o" | "r" | "m" | "i" | "x";

export type JournalEvent = {
  /** Seconds since the session began, with microseconds. */
  readonly time: number;
  /** Bytes of output before the event; for output: after it. */
  readonly offset: number;
  readonly kind: JournalEventKind;
  readonly data?: string;
};

export function eventLine(event: JournalEvent): string {
  const time = event.time.toFixed(6);
  if (event.data === undefined) return `[${time},${event.offset},"${event.kind}"]\n`;
  return `[${time},${event.offset},"${event.kind}",${JSON.stringify(event.data)}]\n`;
}

/** Undefined for what is no whole record. */
export function parseEventLine(line: string): JournalEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const [time, offset, kind, data]: unknown[] = value;
  if (typeof time !== "number" || typeof offset !== "number" || !isKind(kind)) return undefined;
  return typeof data === "string" ? { time, offset, kind, data } : { time, offset, kind };
}

function isKind(value: unknown): value is JournalEventKind {
  return value === "o" || value === "r" || value === "m" || value === "i" || value === "x";
}
