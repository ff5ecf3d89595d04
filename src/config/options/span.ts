// Durations, and the retention of recordings.
import { byteCount } from "./value.ts";

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ["", 1_000],
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
  ["w", 604_800_000],
]);
const SPAN = /^(\d{1,13})\s?([a-z]{0,2})$/;

/** Limits for recordings of ended sessions; `undefined`: no limit of that kind. */
export type Retention = { readonly maxAgeMs: number | undefined; readonly maxBytes: number | undefined };

/** Seconds, or a whole number with a unit: `20`, `500ms`, `5m`. In ms. `least` and `most` are such times as well. */
export function span(least: string, most: string, example: string): (text: string) => number {
  const inMs = (time: string): number => spanMs(time) ?? Number.NaN;
  return (text) => {
    const ms = inMs(text);
    if (ms >= inMs(least) && ms <= inMs(most)) return ms;
    throw new RangeError(`must be a time from ${least} to ${most}, such as ${example}`);
  };
}

/** An age, a size, or both: `30d`, `10GB`, `30d,10GB`. */
export function retention(text: string): Retention {
  const parts = text.split(",").map((part) => part.trim());
  let [maxAgeMs, maxBytes]: [number?, number?] = [];
  for (const part of parts) {
    const ageMs = /\d$/.test(part) ? undefined : spanMs(part);
    const bytes = /\d$/.test(part) || ageMs !== undefined ? undefined : bytesOf(part);
    if (ageMs !== undefined && ageMs > 0 && maxAgeMs === undefined) maxAgeMs = ageMs;
    else if (bytes !== undefined && maxBytes === undefined) maxBytes = bytes;
    else
      throw new RangeError(
        "must be an age, a size or both, each with its unit, such as 30d, 10GB or 30d,10GB",
      );
  }
  return { maxAgeMs, maxBytes };
}

/** In ms; `undefined` for any other text. */
export function spanMs(text: string): number | undefined {
  const [, digits, unit = ""] = SPAN.exec(text.toLowerCase()) ?? [];
  const unitMs = UNIT_MS.get(unit);
  return digits === undefined || unitMs === undefined ? undefined : Number(digits) * unitMs;
}

function bytesOf(text: string): number | undefined {
  try {
    return byteCount(text);
  } catch {
    return undefined;
  }
}
