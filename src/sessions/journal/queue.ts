import { Ring } from "../../lib/data/ring.ts";
import { eventLine, type Gap, type JournalEvent } from "./event.ts";

/** Memory of an entry besides its bytes and its record; counted, so that single bytes stay within the limits. */
const ENTRY_OVERHEAD_BYTES = 256;

type Entry = { readonly event: JournalEvent; readonly line: string; readonly bytes: Uint8Array };

/** Dropped output, and the last dropped record of a size. */
export type Dropped = {
  readonly gap: Gap | undefined;
  readonly time: number;
  readonly size: string | undefined;
};

const NONE = new Uint8Array(0);

/** Output and records that are not on disk, in order. The caller bounds it with `drop`. */
export class JournalQueue {
  readonly #entries = new Ring<Entry>();
  #bytes = 0;
  #recordBytes = 0;
  #added = 0;

  /** `bytes`: the output before the event's offset; not copied. */
  add(event: JournalEvent, bytes: Uint8Array = NONE): void {
    const line = eventLine(event);
    this.#entries.push({ event, line, bytes });
    this.#bytes += bytes.length;
    this.#recordBytes += line.length;
    this.#added += 1;
  }

  get added(): number {
    return this.#added;
  }

  /** Number of records that were removed again. */
  get gone(): number {
    return this.#added - this.#entries.length;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get recordBytes(): number {
    return this.#recordBytes;
  }

  /** Approximate memory in bytes. */
  get cost(): number {
    return this.#bytes + this.#recordBytes + this.#entries.length * ENTRY_OVERHEAD_BYTES;
  }

  /** Offset of its first byte of output. */
  get start(): number | undefined {
    for (const entry of this.#entries) if (entry.bytes.length > 0) return startOf(entry);
    return undefined;
  }

  pieces(): Uint8Array[] {
    return [...this.#entries].flatMap(({ bytes }) => (bytes.length > 0 ? [bytes] : []));
  }

  /** The part of the output from `from` up to `to` that is in the queue. */
  *read(from: number, to: number): Generator<Uint8Array> {
    for (const entry of this.#entries) {
      const offset = startOf(entry);
      const begin = Math.max(0, from - offset);
      const end = Math.min(entry.bytes.length, to - offset);
      if (begin < end) yield entry.bytes.subarray(begin, end);
    }
  }

  /** Removes the first `count` bytes of output with the records before the next byte; returns the records' lines. */
  take(count: number): string {
    let lines = "";
    let left = count;
    for (let entry = this.#entries.at(0); entry !== undefined; entry = this.#entries.at(0)) {
      if (entry.bytes.length > left) return lines + this.#split(entry, left);
      left -= entry.bytes.length;
      lines += entry.line;
      this.#shift();
    }
    return lines;
  }

  /** Drops the oldest entries above `maxCost`. Returns them merged with `before`. */
  drop(maxCost: number, before?: Dropped): Dropped | undefined {
    let dropped = before;
    while (this.cost > maxCost) {
      const entry = this.#shift();
      if (entry === undefined) break;
      dropped = droppedWith(dropped, entry);
    }
    return dropped;
  }

  /** The written part of an entry gets a record of its own. */
  #split(entry: Entry, count: number): string {
    if (count === 0) return "";
    const { event, bytes } = entry;
    this.#entries.replaceFirst({ ...entry, bytes: bytes.subarray(count) });
    this.#bytes -= count;
    return eventLine({ ...event, offset: startOf(entry) + count });
  }

  #shift(): Entry | undefined {
    const entry = this.#entries.shift();
    if (entry === undefined) return undefined;
    this.#bytes -= entry.bytes.length;
    this.#recordBytes -= entry.line.length;
    return entry;
  }
}

function startOf({ event, bytes }: Entry): number {
  return event.offset - bytes.length;
}

function droppedWith(before: Dropped | undefined, { event, bytes }: Entry): Dropped {
  const { time, offset, kind, data } = event;
  const from = before?.gap?.from ?? offset - bytes.length;
  const gap = bytes.length > 0 ? { from, to: offset } : before?.gap;
  const size = kind === "r" ? data : before?.size;
  return { time, gap, size };
}
