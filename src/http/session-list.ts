import type { SessionRecord } from "../protocol/schemas/session.ts";

/** `bytes`: the record in JSON, and a comma. */
type Entry = { readonly viewers: number; readonly bytes: Uint8Array };

const START = Buffer.from("[");
const END = 0x5d;
const EMPTY = Buffer.from("[]");

/**
 * The serialised session list. On an HQ it may have ten thousand records, of which few change between answers: the last
 * answer is kept, and each record's part of it. Records are immutable.
 */
export class SessionListJson {
  readonly #entries = new WeakMap<SessionRecord, Entry>();
  #records: readonly SessionRecord[] = [];
  #answer: Uint8Array = EMPTY;

  /** In this order, each with its number of viewers. */
  of(records: readonly SessionRecord[], viewersOf: (sessionId: string) => number): Uint8Array {
    if (records.length === 0) return EMPTY;
    let isSame = records === this.#records;
    const parts = records.map((record) => {
      const viewers = viewersOf(record.id);
      const known = this.#entries.get(record);
      if (known?.viewers === viewers) return known.bytes;
      isSame = false;
      // Not in Node's buffer pool, of which a small part would keep 8 KiB.
      const bytes = new TextEncoder().encode(`${JSON.stringify({ ...record, viewers })},`);
      this.#entries.set(record, { viewers, bytes });
      return bytes;
    });
    if (isSame) return this.#answer;
    this.#records = records;
    this.#answer = Buffer.concat([START, ...parts]);
    this.#answer[this.#answer.length - 1] = END;
    return this.#answer;
  }
}
