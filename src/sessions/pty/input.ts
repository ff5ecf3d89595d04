// Input for a pty master. The kernel holds about 12 KB of unread input; the rest waits here.
import { writeSync } from "node:fs";

/** Pauses between writes to a full terminal: the first, doubled each time up to the last. */
const FIRST_RETRY_MS = 1;
const LAST_RETRY_MS = 64;

/**
 * Writes in order and without blocking. It keeps all input: the caller checks `pendingBytes` and refuses more.
 *
 * NOTE: it writes to the descriptor directly. libuv writes to a pty master as to a terminal: it blocks, and spins on EAGAIN
 * until the program reads.
 */
export class PtyInput implements Disposable {
  readonly #fd: number;
  /** Copies of unwritten input. The next retry joins them, so that single bytes do not pile up. */
  #waiting: Uint8Array[] = [];
  #pendingBytes = 0;
  #retryMs = FIRST_RETRY_MS;
  #retry: NodeJS.Timeout | undefined;
  #isDisposed = false;

  /** `fd`: a pty master in non-blocking mode, open until disposal. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** `bytes` may be reused by the caller afterwards. */
  write(bytes: Uint8Array): void {
    if (this.#isDisposed) return;
    const taken = this.#pendingBytes === 0 ? writeNow(this.#fd, bytes) : 0;
    if (taken === "refused" || taken === bytes.length) return;
    // Not slice, which is a view of a Buffer.
    this.#waiting.push(new Uint8Array(bytes.subarray(taken)));
    this.#pendingBytes += bytes.length - taken;
    this.#retry ??= setTimeout(() => this.#flush(), this.#retryMs);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#clear();
  }

  #flush(): void {
    const [first, ...others] = this.#waiting;
    const bytes = first !== undefined && others.length === 0 ? first : Buffer.concat(this.#waiting);
    const taken = writeNow(this.#fd, bytes);
    if (taken === "refused" || taken === bytes.length) {
      this.#clear();
      return;
    }
    this.#waiting = [bytes.subarray(taken)];
    this.#pendingBytes -= taken;
    this.#retryMs = taken > 0 ? FIRST_RETRY_MS : Math.min(this.#retryMs * 2, LAST_RETRY_MS);
    this.#retry = setTimeout(() => this.#flush(), this.#retryMs);
  }

  #clear(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#retryMs = FIRST_RETRY_MS;
    this.#waiting = [];
    this.#pendingBytes = 0;
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
