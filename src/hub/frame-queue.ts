import { concatBytes } from "../lib/collect.ts";
import { encodeFrame, FrameType, type Magic } from "../protocol/frame.ts";
import { decodeResync, encodeJson, encodeOutputFrame } from "../protocol/payload.ts";
import type { SharedOutput } from "./shared-output.ts";
import { WholeCharacters } from "./whole-characters.ts";

/** ESC c: how a terminal is reset for a client without offsets (contract 1.4). */
const RESET = new Uint8Array([0x1b, 0x63]);

/**
 * The frames of one session that one client gets next, in the form it understands: OUTPUT and RESYNC, or STDOUT alone.
 * At most a handful at any time, because whoever fills it waits until it was emptied.
 */
export class FrameQueue {
  readonly #sessionId: string;
  readonly #magic: () => Magic;
  readonly #frames: Uint8Array[] = [];
  readonly #characters = new WholeCharacters();

  constructor(sessionId: string, magic: () => Magic) {
    this.#sessionId = sessionId;
    this.#magic = magic;
  }

  take(): Uint8Array | undefined {
    return this.#frames.shift();
  }

  json(type: FrameType, value: unknown): void {
    this.#push(type, encodeJson(value));
  }

  /** Output that all viewers share. */
  shared(output: SharedOutput, hasOffsets: boolean): void {
    const magic = this.#magic();
    if (hasOffsets) this.#frames.push(output.output(magic));
    else if (this.#stdout(output.bytes)) this.#frames.push(output.stdout(magic));
  }

  /** Output for this client alone: of the past, or the rest of a run of which it has had the beginning. */
  output(offset: number, bytes: Uint8Array, hasOffsets: boolean): void {
    if (hasOffsets) {
      this.#frames.push(encodeOutputFrame(this.#sessionId, offset, bytes, this.#magic()));
    } else if (this.#stdout(bytes)) this.#push(FrameType.STDOUT, bytes);
  }

  /** Returns the offset at which output goes on. */
  resync(payload: Uint8Array, hasOffsets: boolean): number {
    const { offset, bytes } = decodeResync(payload);
    this.#characters.rest();
    if (hasOffsets) this.#push(FrameType.RESYNC, payload);
    else this.#push(FrameType.STDOUT, concatBytes([RESET, bytes]));
    return offset;
  }

  /** The output is over: what looked like the beginning of a character was none. */
  finish(): void {
    const rest = this.#characters.rest();
    if (rest.length > 0) this.#push(FrameType.STDOUT, rest);
  }

  /** True when `bytes` can go out as they are; otherwise what can be sent of them was queued. */
  #stdout(bytes: Uint8Array): boolean {
    const whole = this.#characters.take(bytes);
    if (whole === bytes) return true;
    if (whole.length > 0) this.#push(FrameType.STDOUT, whole);
    return false;
  }

  #push(type: FrameType, payload: Uint8Array): void {
    this.#frames.push(encodeFrame(type, this.#sessionId, payload, this.#magic()));
  }
}
