import { concatBytes } from "../../lib/data/collect.ts";
import { encodeFrame, FrameType, type Magic } from "../../protocol/frame/frame.ts";
import { encodeJson, encodeOutputFrame, type Resync } from "../../protocol/frame/payload.ts";
import { WholeCharacters } from "../../protocol/whole-characters.ts";
import type { SharedOutput } from "../shared-output.ts";

/** ESC c: how a terminal is reset for a client without offsets (contract 1.4). */
const RESET = new Uint8Array([0x1b, 0x63]);

/** A frame; one of output with the offset of the byte that the client needs next once it has this one. */
type Queued = { readonly frame: Uint8Array; readonly next?: number };

/**
 * The frames of one session that one client gets next, in the form it understands: OUTPUT and RESYNC, or STDOUT alone.
 * At most a handful at any time, because whoever fills it waits until it was emptied.
 */
export class FrameQueue {
  readonly #sessionId: string;
  readonly #magic: () => Magic;
  readonly #frames: Queued[] = [];
  readonly #characters = new WholeCharacters();
  #hasOffsets = false;
  #position = 0;
  #taken: number | undefined;

  constructor(sessionId: string, magic: () => Magic) {
    this.#sessionId = sessionId;
    this.#magic = magic;
  }

  /** Offset of the byte that follows all that was queued so far. */
  get position(): number {
    return this.#position;
  }

  /** Offset after what the client has had of the output; undefined when it has had nothing. */
  get taken(): number | undefined {
    return this.#taken;
  }

  take(): Uint8Array | undefined {
    const queued = this.#frames.shift();
    if (queued === undefined) return undefined;
    this.#taken = queued.next ?? this.#taken;
    return queued.frame;
  }

  /** Forgets what was not taken; what is queued next begins at `offset`. */
  seek(offset: number, form: { readonly hasOffsets: boolean }): void {
    this.#frames.length = 0;
    this.#characters.rest();
    this.#position = offset;
    this.#hasOffsets = form.hasOffsets;
  }

  /** The client was told where its output begins. */
  told(): void {
    this.#taken = this.#position;
  }

  event(value: unknown): void {
    this.#frames.push({ frame: this.#encode(FrameType.EVENT, encodeJson(value)) });
  }

  /** Output that all viewers share; what the client has had of it is left out. */
  shared(output: SharedOutput): void {
    const had = this.#position - output.offset;
    if (had > 0) {
      this.output(output.bytes.subarray(had));
      return;
    }
    this.#position = output.end;
    const magic = this.#magic();
    if (this.#hasOffsets) this.#queue(output.output(magic));
    else if (this.#isWhole(output.bytes)) this.#queue(output.stdout(magic));
  }

  /** Output for this client alone. */
  output(bytes: Uint8Array): void {
    const offset = this.#position;
    this.#position += bytes.length;
    if (this.#hasOffsets) this.#queue(encodeOutputFrame(this.#sessionId, offset, bytes, this.#magic()));
    else if (this.#isWhole(bytes)) this.#queue(this.#encode(FrameType.STDOUT, bytes));
  }

  /** Bytes that are no output of the session, for a client without offsets. */
  prefix(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#frames.push({ frame: this.#encode(FrameType.STDOUT, bytes) });
  }

  /** The payload of a RESYNC, with what it says. */
  resync(payload: Uint8Array, { offset, bytes }: Resync): void {
    this.#characters.rest();
    this.#position = offset;
    if (this.#hasOffsets) this.#queue(this.#encode(FrameType.RESYNC, payload));
    // It ends with the beginning of a character where one is cut at that offset.
    else this.#queue(this.#encode(FrameType.STDOUT, concatBytes([RESET, this.#characters.take(bytes)])));
  }

  /** The output is over: what looked like the beginning of a character was none. */
  finish(): void {
    const rest = this.#characters.rest();
    if (rest.length > 0) this.#queue(this.#encode(FrameType.STDOUT, rest));
  }

  /** True when `bytes` can go out as they are; otherwise what can be sent of them was queued. */
  #isWhole(bytes: Uint8Array): boolean {
    const whole = this.#characters.take(bytes);
    if (whole === bytes) return true;
    if (whole.length > 0) this.#queue(this.#encode(FrameType.STDOUT, whole));
    return false;
  }

  #encode(type: FrameType, payload: Uint8Array): Uint8Array {
    return encodeFrame(type, this.#sessionId, payload, this.#magic());
  }

  #queue(frame: Uint8Array): void {
    this.#frames.push({ frame, next: this.#position - this.#characters.held.length });
  }
}
