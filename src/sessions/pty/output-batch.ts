import { outputFrameHeaderBytes, writeOutputFrameHeader } from "../../protocol/frame/frame.ts";
import { MAX_OUTPUT_FRAME_BYTES, OUTPUT_BATCH_MS, PROMPT_OUTPUT_BYTES } from "../../protocol/limits.ts";

/** Output inside its OUTPUT frame; `bytes` were copied once, from the pty to here. */
export type OutputPiece = {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly frame: Uint8Array;
};

/** Emits the first bytes of each window at once, such as a key's echo, and a flood in frames of up to 256 KiB or 4 ms. */
export class OutputBatch {
  readonly #sessionId: string;
  readonly #emit: (piece: OutputPiece) => void;
  readonly #now: () => number;
  readonly #headerBytes: number;
  #offset = 0;
  #slab: Uint8Array | undefined;
  #used = 0;
  #windowStart = Number.NEGATIVE_INFINITY;
  #windowBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `now` in milliseconds, monotonic. */
  constructor(options: { sessionId: string; emit: (piece: OutputPiece) => void; now: () => number }) {
    this.#sessionId = options.sessionId;
    this.#emit = options.emit;
    this.#now = options.now;
    this.#headerBytes = outputFrameHeaderBytes(options.sessionId);
  }

  /** Bytes so far, emitted or not. */
  get offset(): number {
    return this.#offset + this.#used;
  }

  /** Copies `chunk`. */
  add(chunk: Uint8Array): void {
    const now = this.#now();
    if (now - this.#windowStart >= OUTPUT_BATCH_MS) {
      this.#windowStart = now;
      this.#windowBytes = 0;
    }
    this.#windowBytes += chunk.length;
    this.#append(chunk);
    if (this.#windowBytes <= PROMPT_OUTPUT_BYTES) this.flush();
    else if (this.#used > 0) this.#timer ??= setTimeout(() => this.flush(), OUTPUT_BATCH_MS);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const slab = this.#slab;
    if (slab === undefined || this.#used === 0) return;
    const length = this.#headerBytes + this.#used;
    // A frame may be held for long: it must not keep a mostly empty slab alive.
    const keepsSlab = length * 2 >= slab.length;
    const frame = keepsSlab ? slab.subarray(0, length) : slab.slice(0, length);
    if (keepsSlab) this.#slab = undefined;
    writeOutputFrameHeader(frame, this.#sessionId, this.#offset, this.#used);
    const piece = { offset: this.#offset, bytes: frame.subarray(this.#headerBytes), frame };
    this.#offset += this.#used;
    this.#used = 0;
    this.#emit(piece);
  }

  /** Gives back the memory of an idle session. */
  release(): void {
    this.flush();
    this.#slab = undefined;
  }

  #append(chunk: Uint8Array): void {
    for (let rest = chunk; rest.length > 0; ) {
      const slab = this.#slab ?? this.#newSlab(rest.length);
      const room = slab.length - this.#headerBytes - this.#used;
      const part = rest.length <= room ? rest : rest.subarray(0, room);
      slab.set(part, this.#headerBytes + this.#used);
      this.#used += part.length;
      if (part.length === room) this.flush();
      rest = rest.subarray(part.length);
    }
  }

  #newSlab(needed: number): Uint8Array {
    const isFlood = this.#windowBytes > PROMPT_OUTPUT_BYTES;
    const capacity = isFlood ? MAX_OUTPUT_FRAME_BYTES : Math.min(needed, MAX_OUTPUT_FRAME_BYTES);
    this.#slab = new Uint8Array(this.#headerBytes + capacity);
    return this.#slab;
  }
}
