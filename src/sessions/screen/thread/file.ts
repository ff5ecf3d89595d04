import { closeSync, openSync, readSync } from "node:fs";

/** Output is scanned in blocks of this size, which fit the processor's cache. */
export const BLOCK_BYTES = 256 * 1024;
/** A block and the rest of a sequence at its end. */
const MAX_READ_BYTES = BLOCK_BYTES + 1024;

/** Synchronous reads of a session's output, for the screen thread. */
export class ScreenFile implements Disposable {
  readonly #output: string | Buffer;
  readonly #block = Buffer.alloc(MAX_READ_BYTES);
  #descriptor: number | undefined;

  /** `output`: its path or its bytes. */
  constructor(output: string | Uint8Array) {
    this.#output =
      typeof output === "string" ? output : Buffer.from(output.buffer, output.byteOffset, output.length);
  }

  /** A Buffer, because its search is memchr. Valid until the next call; at most BLOCK_BYTES and 1,024 bytes. Throws if the file is unreadable or too short. */
  read(offset: number, length: number): Buffer {
    if (typeof this.#output !== "string") return this.#output.subarray(offset, offset + length);
    let done = 0;
    while (done < length) {
      this.#descriptor ??= openSync(this.#output, "r");
      const count = readSync(this.#descriptor, this.#block, done, length - done, offset + done);
      if (count === 0)
        throw new Error(`${this.#output} ends at byte ${offset + done}, not at ${offset + length}`);
      done += count;
    }
    return this.#block.subarray(0, length);
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
