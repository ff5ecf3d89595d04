// Output for clients without offsets (contract 1.4).
import { concatBytes } from "../../lib/data/collect.ts";
import { encodeFrame, FrameType, type Magic } from "../../protocol/frame/frame.ts";
import { WholeCharacters } from "../../protocol/whole-characters.ts";
import type { SharedOutput } from "../feed.ts";

/** ESC c resets a terminal. */
const RESET = new Uint8Array([0x1b, 0x63]);

/** Encodes one session's output as STDOUT frames that never cut a UTF-8 character; RESYNC becomes a reset and the screen. */
export class StdoutEncoder {
  readonly #sessionId: string;
  readonly #magic: Magic;
  readonly #characters = new WholeCharacters();

  constructor(sessionId: string, magic: Magic) {
    this.#sessionId = sessionId;
    this.#magic = magic;
  }

  /** Number of held bytes of an incomplete character. */
  get heldBytes(): number {
    return this.#characters.held.length;
  }

  /** Undefined if the bytes complete no character. `run`: the same bytes with the frame that all clients share. */
  output(bytes: Uint8Array, run?: SharedOutput): Uint8Array | undefined {
    const whole = this.#characters.take(bytes);
    if (whole === bytes && run !== undefined) return run.stdout(this.#magic);
    return whole.length === 0 ? undefined : this.frame(whole);
  }

  /** The bytes of a screen may end with an incomplete character. */
  screen(bytes: Uint8Array): Uint8Array {
    this.#characters.rest();
    return this.frame(concatBytes([RESET, this.#characters.take(bytes)]));
  }

  /** At the end of the output, the held bytes are sent although they are no character. */
  rest(): Uint8Array | undefined {
    const rest = this.#characters.rest();
    return rest.length === 0 ? undefined : this.frame(rest);
  }

  frame(bytes: Uint8Array): Uint8Array {
    return encodeFrame(FrameType.STDOUT, this.#sessionId, bytes, this.#magic);
  }
}
