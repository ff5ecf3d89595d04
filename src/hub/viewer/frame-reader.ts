import { ServiceError } from "../../protocol/errors.ts";
import { decodeFrame, type Frame, FrameError, type Magic } from "../../protocol/frame/frame.ts";
import { MAX_BAD_FRAMES } from "../../protocol/limits.ts";
import type { Traffic } from "../traffic.ts";

/** The messages of one client as frames, and whether it speaks our language at all. */
export class FrameReader {
  readonly #traffic: Traffic;
  readonly #refused: (error: ServiceError) => void;
  #magic: Magic | undefined;
  #badInARow = 0;

  /** `refused` is told of each message that is no frame. */
  constructor(options: { traffic: Traffic; refused: (error: ServiceError) => void }) {
    this.#traffic = options.traffic;
    this.#refused = options.refused;
  }

  /** The order of the first two bytes, which its first frame decides (contract 1.2). */
  get magic(): Magic {
    return this.#magic ?? "VT";
  }

  /** So many frames in a row meant nothing that it is to be given up on (contract 1.5). */
  get isHopeless(): boolean {
    return this.#badInARow >= MAX_BAD_FRAMES;
  }

  /** A view into `message`; undefined for what is no frame. */
  read(message: Uint8Array): Frame | undefined {
    this.#traffic.framesIn += 1;
    this.#traffic.bytesIn += message.length;
    try {
      const frame = decodeFrame(message);
      this.#badInARow = 0;
      this.#magic ??= frame.magic;
      return frame;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#traffic.badFrames += 1;
      this.#badInARow += 1;
      this.#refused(new ServiceError("bad_frame", error.message));
      return undefined;
    }
  }
}
