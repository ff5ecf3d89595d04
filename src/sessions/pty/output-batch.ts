import {
  type OutputDelivery,
  outputFrameHeaderBytes,
  writeOutputFrameHeader,
} from "../../protocol/frame/frame.ts";
import { MAX_OUTPUT_FRAME_BYTES, OUTPUT_BATCH_MS, PROMPT_OUTPUT_BYTES } from "../../protocol/limits.ts";

type OutputBatchOptions = {
  readonly sessionId: string;
  readonly emit: (output: OutputDelivery) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/**
 * Copies output once, into its frame. Emits the first bytes of each window at once, such as a key's echo, and a flood in
 * frames of up to 256 KiB or 4 ms.
 */
export class OutputBatch {
  readonly #options: OutputBatchOptions;
  readonly #headerBytes: number;
  #offset = 0;
  #slab: Uint8Array | undefined;
  #used = 0;
  #windowStart = Number.NEGATIVE_INFINITY;
  #windowBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OutputBatchOptions) {
    this.#options = options;
    this.#headerBytes = outputFrameHeaderBytes(options.sessionId);
  }

  /** Bytes so far, emitted or not. */
  get offset(): number {
    return this.#offset + this.#used;
  }

  /** Copies `chunk`. */
  add(chunk: Uint8Array): void {
    const now = this.#options.now();
    if (now - this.#windowStart >= OUTPUT_BATCH_MS) {
      this.#windowStart = now;
      this.#windowBytes = 0;
    }
    this.#windowBytes += chunk.length;
    this.#append(chunk);
    if (this.#windowBytes <= PROMPT_OUTPUT_BYTES) this.flush();
    else if (this.#used > 0) this.#timer ??= this.#windowTimer();
  }

  flush(): void {
    const slab = this.#slab;
    if (slab === undefined || this.#used === 0) return;
    clearTimeout(this.#timer);
    const length = this.#headerBytes + this.#used;
    // A frame may be held for long: it must not keep a mostly empty slab alive.
    const keepsSlab = length * 2 >= slab.length;
    const frame = keepsSlab ? slab.subarray(0, length) : slab.slice(0, length);
    if (keepsSlab) this.#slab = undefined;
    this.#timer = keepsSlab ? undefined : this.#windowTimer();
    const { sessionId, emit } = this.#options;
    const offset = this.#offset;
    writeOutputFrameHeader(frame, sessionId, offset, this.#used);
    this.#offset += this.#used;
    this.#used = 0;
    emit({ kind: "output", offset, bytes: frame.subarray(this.#headerBytes), frame });
  }

  /** Emits what a window has left. After a window without output the slab is given back: idle sessions hold none. */
  #windowTimer(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = undefined;
      if (this.#used > 0) this.flush();
      else this.#slab = undefined;
    }, OUTPUT_BATCH_MS);
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
