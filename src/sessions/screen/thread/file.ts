import { closeSync, openSync, readSync } from "node:fs";

/** Output is looked at in blocks of this many bytes: they stay in the processor's cache. */
export const BLOCK_BYTES = 256 * 1024;
/** A block and the end of a sequence that goes on behind it. */
const MAX_READ_BYTES = BLOCK_BYTES + 1024;

/** The output of one session, read at any place. Reading waits: it happens in a thread of its own, a block at a time. */
export class ScreenFile implements Disposable {
  readonly #path: string;
  readonly #block = new Uint8Array(MAX_READ_BYTES);
  #descriptor: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * A view that holds until the next call; at most BLOCK_BYTES and 1,024 bytes. Throws the system's error when the file
   * cannot be read and an Error when it is shorter.
   */
  read(offset: number, length: number): Uint8Array {
    let done = 0;
    while (done < length) {
      this.#descriptor ??= openSync(this.#path, "r");
      const count = readSync(this.#descriptor, this.#block, done, length - done, offset + done);
      if (count === 0)
        throw new Error(`${this.#path} ends at byte ${offset + done}, not at ${offset + length}`);
      done += count;
    }
    return this.#block.subarray(0, length);
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
