import { Ring } from "../../lib/data/ring.ts";
import type { Gap } from "./event.ts";
import { eventLine, type JournalEvent } from "./event.ts";

/** What an entry costs beside its bytes; counted, so that a byte at a time stays within the limits too. */
const ENTRY_OVERHEAD_BYTES = 256;

/** A record on its way to the disk; one of output with the bytes that it counts. */
type Entry = { readonly event: JournalEvent; readonly line: string; readonly bytes: Uint8Array };

/** What was dropped: output, and the last of the records of a size among it. */
export type Dropped = { readonly gap?: Gap; readonly time: number; readonly size?: string };

const NONE = new Uint8Array(0);

/** Output and records in order, on their way to the disk, or held for want of one. Whoever adds bounds it with `drop`. */
export class JournalQueue {
  readonly #entries = new Ring<Entry>();
  #bytes = 0;
  #recordBytes = 0;
  #added = 0;

  /** `bytes` are the output that ends at the event's offset; they are not copied. */
  add(event: JournalEvent, bytes: Uint8Array = NONE): void {
    const line = eventLine(event);
    this.#entries.push({ event, line, bytes });
    this.#bytes += bytes.length;
    this.#recordBytes += line.length;
    this.#added += 1;
  }

  /** How many records came in so far. */
  get added(): number {
    return this.#added;
  }

  /** How many of these are out again. */
  get gone(): number {
    return this.#added - this.#entries.length;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Of output. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Of the lines that records become. */
  get recordBytes(): number {
    return this.#recordBytes;
  }

  /** Bytes of memory, about. */
  get cost(): number {
    return this.#bytes + this.#entries.length * ENTRY_OVERHEAD_BYTES;
  }

  /** Offset of the first byte of output in it. */
  get start(): number | undefined {
    for (let index = 0; index < this.#entries.length; index++) {
      const entry = this.#entries.at(index);
      if (entry !== undefined && entry.bytes.length > 0) return startOf(entry);
    }
    return undefined;
  }

  /** All output. */
  pieces(): Uint8Array[] {
    return [...this.#each()].flatMap(({ bytes }) => (bytes.length > 0 ? [bytes] : []));
  }

  /** The output from `from` up to `to`, as far as it is here. */
  *read(from: number, to: number): Generator<Uint8Array> {
    for (const entry of this.#each()) {
      const offset = startOf(entry);
      const begin = Math.max(0, from - offset);
      const end = Math.min(entry.bytes.length, to - offset);
      if (begin < end) yield entry.bytes.subarray(begin, end);
    }
  }

  /** Takes out the first `count` bytes of output and all records before the byte after them: the lines of these. */
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

  /** Drops what is oldest until the rest costs no more than `maxCost`. Returns that, with what was dropped `before`. */
  drop(maxCost: number, before?: Dropped): Dropped | undefined {
    let dropped = before;
    while (this.cost > maxCost) {
      const entry = this.#shift();
      if (entry === undefined) break;
      dropped = droppedWith(dropped, entry);
    }
    return dropped;
  }

  /** The part of an entry that is on disk gets a record of its own. */
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

  *#each(): Generator<Entry> {
    for (let index = 0; index < this.#entries.length; index++) {
      const entry = this.#entries.at(index);
      if (entry !== undefined) yield entry;
    }
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
  return { time, ...(gap === undefined ? {} : { gap }), ...(size === undefined ? {} : { size }) };
}
