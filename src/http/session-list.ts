import type { SessionRecord } from "../protocol/schemas/session.ts";
import { JsonBytes } from "./route.ts";

type Entry = {
  readonly record: SessionRecord;
  readonly viewers: number;
  readonly text: string;
  /** Length in UTF-8. */
  readonly bytes: number;
  /** Its place in the last answer; `undefined`: not in it. */
  at: number | undefined;
};

/**
 * The serialised session list. On an HQ it may have ten thousand records, of which few change between answers, so the
 * last answer is kept, whole and by record. Records are immutable.
 */
export class SessionListJson {
  #entries = new Map<string, Entry>();
  #records: readonly SessionRecord[] | undefined;
  #answer = new JsonBytes(new Uint8Array());

  /** In this order, each with its number of viewers. */
  of(records: readonly SessionRecord[], viewersOf: (sessionId: string) => number): JsonBytes {
    let isSame = records === this.#records;
    const entries = records.map((record) => {
      const viewers = viewersOf(record.id);
      const known = this.#entries.get(record.id);
      if (known?.record === record && known.viewers === viewers) return known;
      isSame = false;
      return this.#keep(record, viewers);
    });
    if (isSame) return this.#answer;
    if (this.#entries.size > entries.length)
      this.#entries = new Map(entries.map((one) => [one.record.id, one]));
    this.#records = records;
    this.#answer = new JsonBytes(arrayOf(entries, this.#answer.bytes));
    return this.#answer;
  }

  #keep(record: SessionRecord, viewers: number): Entry {
    const text = JSON.stringify({ ...record, viewers });
    const entry = { record, viewers, text, bytes: Buffer.byteLength(text), at: undefined };
    this.#entries.set(record.id, entry);
    return entry;
  }
}

const COMMA = 0x2c;

/** Entries that follow each other in the last answer are copied together: encoding them takes ten times as long. */
function arrayOf(entries: readonly Entry[], last: Uint8Array): Uint8Array {
  const length = entries.reduce((sum, { bytes }) => sum + bytes + 1, 1);
  const array = Buffer.allocUnsafeSlow(Math.max(length, 2));
  let at = array.write("[");
  // What of the last answer is to be copied to the place before the last comma.
  let [from, to] = [0, 0];
  const copy = (): void => array.set(last.subarray(from, to), at - 1 - (to - from));
  for (const entry of entries) {
    const { text, bytes, at: before } = entry;
    const isNext = to > 0 && before === to + 1;
    if (!isNext) {
      copy();
      [from, to] = before === undefined ? [0, 0] : [before, before - 1];
    }
    if (before === undefined) array.write(text, at);
    else to += 1 + bytes;
    entry.at = at;
    at += bytes;
    array[at] = COMMA;
    at += 1;
  }
  copy();
  array.write("]", Math.max(1, at - 1));
  return array;
}
