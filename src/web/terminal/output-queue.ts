// Between the socket and the terminal emulator. A browser cannot stop reading a WebSocket, and an emulator parses slower
// than a server sends: what is not parsed yet waits here, and the owner pauses its subscription when that is too much.

/** Handed to the emulator at once: small enough that a frame is drawn between two of them. */
const CHUNK_BYTES = 64 * 1024;
/** In the emulator and not parsed: enough that it never starves, little enough to get rid of when output is skipped. */
const MAX_PARSING_BYTES = 512 * 1024;
/** Not parsed in all before the owner is told to pause: about a third of a second of parsing. */
export const FULL_BYTES = 4 * 1024 * 1024;
/** Parsed down to this the owner is told to go on. */
export const ROOM_BYTES = 1024 * 1024;

export type OutputQueueOptions = {
  /** Parses bytes some time later, in order, and calls back right after, before it parses the next ones. */
  readonly parse: (bytes: Uint8Array, parsed: () => void) => void;
  /** More than FULL_BYTES wait. Called once until `onRoom`. */
  readonly onFull: () => void;
  readonly onRoom: () => void;
};

type Item = { readonly offset: number; readonly bytes: Uint8Array; readonly after: (() => void) | undefined };

const NOTHING = new Uint8Array();

/** Bounded by its owner: FULL_BYTES and what was on its way when `onFull` was called. */
export class OutputQueue {
  readonly #options: OutputQueueOptions;
  readonly #waiting: Item[] = [];
  readonly #parsing: Item[] = [];
  #waitingBytes = 0;
  #parsingBytes = 0;
  #isFull = false;

  constructor(options: OutputQueueOptions) {
    this.#options = options;
  }

  get unparsedBytes(): number {
    return this.#waitingBytes + this.#parsingBytes;
  }

  /** Between `onFull` and `onRoom`. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The offset given with the bytes that are being parsed right now; undefined outside of parsing. */
  get parsingOffset(): number | undefined {
    return this.#parsing[0]?.offset;
  }

  /** `offset` is that of the first byte in the session's output. */
  push(offset: number, bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
      this.#add({
        offset: offset + start,
        bytes: bytes.subarray(start, start + CHUNK_BYTES),
        after: undefined,
      });
    }
  }

  /** Calls `run` when all that was pushed before is parsed and nothing that is pushed later. */
  afterwards(run: () => void): void {
    this.#add({ offset: Number.NEGATIVE_INFINITY, bytes: NOTHING, after: run });
  }

  /** Forgets the bytes that were not handed to the emulator yet; what was to follow them is done nevertheless. */
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
    while (this.#parsingBytes < MAX_PARSING_BYTES) {
      const item = this.#waiting.shift();
      if (item === undefined) return;
      this.#waitingBytes -= item.bytes.length;
      this.#parsingBytes += item.bytes.length;
      this.#parsing.push(item);
      this.#options.parse(item.bytes, () => this.#parsed(item));
    }
  }

  #parsed(item: Item): void {
    this.#parsing.shift();
    this.#parsingBytes -= item.bytes.length;
    item.after?.();
    this.#feed();
    if (!this.#isFull || this.unparsedBytes > ROOM_BYTES) return;
    this.#isFull = false;
    this.#options.onRoom();
  }
}
