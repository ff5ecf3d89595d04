import type { Magic } from "../protocol/frame/frame.ts";
import { encodeFrame, FrameType, withMagic } from "../protocol/frame/frame.ts";

/** A run of output with the frames that carry it. Each form is made at most once and shared by all viewers. */
export class SharedOutput {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly #sessionId: string;
  readonly #outputVT: Uint8Array;
  #outputTV: Uint8Array | undefined;
  #stdoutVT: Uint8Array | undefined;
  #stdoutTV: Uint8Array | undefined;

  /** `frame` is the OUTPUT frame with the magic VT. */
  constructor(sessionId: string, piece: { offset: number; bytes: Uint8Array; frame: Uint8Array }) {
    this.#sessionId = sessionId;
    this.offset = piece.offset;
    this.bytes = piece.bytes;
    this.#outputVT = piece.frame;
  }

  get end(): number {
    return this.offset + this.bytes.length;
  }

  output(magic: Magic): Uint8Array {
    if (magic === "VT") return this.#outputVT;
    this.#outputTV ??= withMagic(this.#outputVT, magic);
    return this.#outputTV;
  }

  stdout(magic: Magic): Uint8Array {
    if (magic === "VT") {
      this.#stdoutVT ??= encodeFrame(FrameType.STDOUT, this.#sessionId, this.bytes, magic);
      return this.#stdoutVT;
    }
    this.#stdoutTV ??= encodeFrame(FrameType.STDOUT, this.#sessionId, this.bytes, magic);
    return this.#stdoutTV;
  }
}
