// The queue between the socket and the terminal emulator. A browser cannot stop reading a WebSocket, and an emulator
// parses slower than a server sends. The emulator gets little at a time, so that a key's echo and the next frame wait
// briefly. The rest waits here, and the owner pauses its subscription when that is too much.

/** The size of one piece for the emulator. */
const PIECE_BYTES = 16 * 1024;
/** The emulator's work at a time, by its recent parsing rate. */
const PARSING_MS = 50;
/** Limits of that work for any measured rate. */
const MIN_PARSING_BYTES = PIECE_BYTES;
const MAX_PARSING_BYTES = 512 * 1024;
/** Bytes per millisecond, until the rate is measured. */
const FIRST_RATE = 2_000;
/** The weight of all earlier measurements relative to the latest. */
const MEMORY = 0.9;
/** A longer duration does not mean slow parsing: browsers schedule hidden windows rarely. */
const ASLEEP_MS = 200;
/** The limit of unparsed bytes that pauses the owner: less than the server sends in one round trip would not help. */
export const FULL_BYTES = 1024 * 1024;
/** The number of unparsed bytes at which the owner resumes. */
export const ROOM_BYTES = 512 * 1024;

export type OutputQueueOptions = {
  /** Parses bytes later, in order, and calls back right after each, before it parses the next ones. */
  readonly parse: (bytes: Uint8Array, parsed: () => void) => void;
  /** More than FULL_BYTES wait. Called once until `onRoom`. */
  readonly onFull: () => void;
  readonly onRoom: () => void;
  /** Milliseconds. */
  readonly now: () => number;
};

/** Unparsed output, the part of it that the emulator has, and the maximum of that part; in bytes. */
export type Backlog = Readonly<Record<"unparsedBytes" | "parsingBytes" | "parsingLimit", number>>;

type Item = { readonly offset: number; readonly bytes: Uint8Array; readonly after: (() => void) | undefined };

const NOTHING = new Uint8Array();

/** Bounded by its owner: FULL_BYTES and the bytes in flight when `onFull` was called. */
export class OutputQueue implements Backlog {
  readonly #options: OutputQueueOptions;
  readonly #rate: ParseRate;
  readonly #waiting: Item[] = [];
  readonly #parsing: Item[] = [];
  #waitingBytes = 0;
  #parsingBytes = 0;
  #isFull = false;

  constructor(options: OutputQueueOptions) {
    this.#options = options;
    this.#rate = new ParseRate(options.now);
  }

  get unparsedBytes(): number {
    return this.#waitingBytes + this.#parsingBytes;
  }

  /** The part of these bytes that the emulator has. */
  get parsingBytes(): number {
    return this.#parsingBytes;
  }

  /** The maximum for the emulator at a time: about PARSING_MS of work. */
  get parsingLimit(): number {
    const bytes = this.#rate.bytesPerMs * PARSING_MS;
    return Math.max(MIN_PARSING_BYTES, Math.min(MAX_PARSING_BYTES, bytes));
  }

  /** Whether `onFull` was called and `onRoom` was not. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The offset of the bytes that are being parsed; undefined outside parsing. */
  get parsingOffset(): number | undefined {
    return this.#parsing[0]?.offset;
  }

  /** `offset`: of the first byte in the session's output. */
  push(offset: number, bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      this.#add({
        offset: offset + start,
        bytes: bytes.subarray(start, start + PIECE_BYTES),
        after: undefined,
      });
    }
  }

  /** Calls `run` when all earlier bytes are parsed and no later ones. */
  afterwards(run: () => void): void {
    this.#add({ offset: Number.NEGATIVE_INFINITY, bytes: NOTHING, after: run });
  }

  /** Drops bytes that the emulator does not have yet; callbacks after them still run. */
  clear(): void {
    const kept = this.#waiting.filter((item) => item.after !== undefined);
    this.#waiting.splice(0, this.#waiting.length, ...kept);
    this.#waitingBytes = 0;
  }

  #add(item: Item): void {
    this.#waiting.push(item);
    this.#waitingBytes += item.bytes.length;
    this.#feed();
    if (this.unparsedBytes <= FULL_BYTES || this.#isFull) return;
    this.#isFull = true;
    this.#options.onFull();
  }

  #feed(): void {
    if (this.#parsing.length === 0) this.#rate.begin();
    for (;;) {
      const [item] = this.#waiting;
      if (item === undefined || this.#parsingBytes + item.bytes.length > this.parsingLimit) return;
      this.#waiting.shift();
      this.#waitingBytes -= item.bytes.length;
      this.#parsingBytes += item.bytes.length;
      this.#parsing.push(item);
      this.#options.parse(item.bytes, () => this.#parsed(item));
    }
  }

  #parsed(item: Item): void {
    this.#parsing.shift();
    this.#parsingBytes -= item.bytes.length;
    // Otherwise the measured rate would be that of the arriving bytes.
    if (this.#waiting.length > 0) this.#rate.parsed(item.bytes.length);
    else this.#rate.begin();
    item.after?.();
    this.#feed();
    if (!this.#isFull || this.unparsedBytes > ROOM_BYTES) return;
    this.#isFull = false;
    this.#options.onRoom();
  }
}

/** Measures how fast the emulator parses, drawing included, while it has enough to do. */
class ParseRate {
  readonly #now: () => number;
  #since: number;
  #bytes = FIRST_RATE;
  #ms = 1;

  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
  }

  get bytesPerMs(): number {
    return this.#bytes / this.#ms;
  }

  /** The next measurement starts here. */
  begin(): void {
    this.#since = this.#now();
  }

  parsed(bytes: number): void {
    const ms = this.#now() - this.#since;
    this.begin();
    if (ms > ASLEEP_MS) return;
    this.#bytes = MEMORY * this.#bytes + bytes;
    this.#ms = MEMORY * this.#ms + ms;
  }
}
