// Input for a pty master. The kernel holds about 12 KB of unread input; the rest waits here.
import { writeSync } from "node:fs";

/** Pauses between writes to a full terminal: the first, doubled each time up to the last. */
const FIRST_RETRY_MS = 1;
const LAST_RETRY_MS = 64;
const FIRST_QUEUE_BYTES = 16 * 1024;
const NOTHING = new Uint8Array(0);

/**
 * Writes in order and without blocking. It keeps all input: the caller checks `pendingBytes` and refuses more.
 *
 * NOTE: it writes to the descriptor directly. libuv writes to a pty master as to a terminal: it blocks, and spins on EAGAIN
 * until the program reads.
 */
export class PtyInput implements Disposable {
  readonly #fd: number;
  /** `#queue` from `#start` to `#end` waits. */
  #queue: Uint8Array = NOTHING;
  #start = 0;
  #end = 0;
  #retryMs = FIRST_RETRY_MS;
  #retry: NodeJS.Timeout | undefined;
  #isDisposed = false;

  /** `fd`: a pty master in non-blocking mode, open until disposal. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  get pendingBytes(): number {
    return this.#end - this.#start;
  }

  /** `bytes` may be reused by the caller afterwards. */
  write(bytes: Uint8Array): void {
    if (this.#isDisposed) return;
    const taken = this.pendingBytes === 0 ? writeNow(this.#fd, bytes) : 0;
    if (taken === "refused" || taken === bytes.length) return;
    this.#append(bytes.subarray(taken));
    this.#retry ??= setTimeout(() => this.#flush(), this.#retryMs);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#clear();
  }

  #flush(): void {
    this.#retry = undefined;
    const taken = writeNow(this.#fd, this.#queue.subarray(this.#start, this.#end));
    if (taken === "refused" || taken === this.pendingBytes) {
      this.#clear();
      return;
    }
    this.#start += taken;
    this.#retryMs = taken > 0 ? FIRST_RETRY_MS : Math.min(this.#retryMs * 2, LAST_RETRY_MS);
    this.#retry = setTimeout(() => this.#flush(), this.#retryMs);
  }

  #append(bytes: Uint8Array): void {
    const pending = this.pendingBytes;
    const needed = pending + bytes.length;
    if (this.#end + bytes.length > this.#queue.length) {
      const waiting = this.#queue.subarray(this.#start, this.#end);
      // Moves to the front only if that frees half: otherwise each small write would move everything.
      if (needed * 2 > this.#queue.length)
        this.#queue = new Uint8Array(Math.max(FIRST_QUEUE_BYTES, needed * 2));
      this.#queue.set(waiting);
      this.#start = 0;
      this.#end = pending;
    }
    this.#queue.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #clear(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#retryMs = FIRST_RETRY_MS;
    this.#queue = NOTHING;
    this.#start = 0;
    this.#end = 0;
  }
}

/** The number of written bytes; "refused" when no program has the terminal open (EIO). */
function writeNow(fd: number, bytes: Uint8Array): number | "refused" {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EAGAIN" ? 0 : "refused";
  }
}
