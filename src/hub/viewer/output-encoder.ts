// Output frames for one client of one session, with offsets or without them (contract 1.4).
import { concatBytes } from "../../lib/data/collect.ts";
import { encodeFrame, encodeOutputFrame, FrameType, type Magic } from "../../protocol/frame/frame.ts";
import { WholeCharacters } from "../../protocol/whole-characters.ts";
import type { SharedOutput } from "../feed.ts";
import type { Screen } from "./screen.ts";

/** ESC c resets a terminal. */
const RESET = new Uint8Array([0x1b, 0x63]);

export type OutputEncoder = {
  /** Undefined if the bytes complete no character. `run`: the same bytes with the frames of all clients. */
  output(offset: number, bytes: Uint8Array, run?: SharedOutput): Uint8Array | undefined;
  screen(screen: Screen): Uint8Array;
  /** At the end of the output: the held bytes, although they are no character. */
  rest(): Uint8Array | undefined;
  /** Number of held bytes of an incomplete character. */
  readonly heldBytes: number;
};

export function offsetEncoder(sessionId: string, magic: Magic): OutputEncoder {
  return {
    output: (offset, bytes, run) => run?.output(magic) ?? encodeOutputFrame(sessionId, offset, bytes, magic),
    screen: ({ payload }) => encodeFrame(FrameType.RESYNC, sessionId, payload, magic),
    rest: () => undefined,
    heldBytes: 0,
  };
}

/** For clients without offsets: STDOUT frames that never cut a UTF-8 character; a screen follows a reset. */
export function stdoutEncoder(sessionId: string, magic: Magic): OutputEncoder {
  const characters = new WholeCharacters();
  const frame = (bytes: Uint8Array): Uint8Array | undefined =>
    bytes.length === 0 ? undefined : stdout(bytes);
  const stdout = (bytes: Uint8Array): Uint8Array => encodeFrame(FrameType.STDOUT, sessionId, bytes, magic);
  return {
    output: (_, bytes, run) => {
      const whole = characters.take(bytes);
      return whole === bytes && run !== undefined ? run.stdout(magic) : frame(whole);
    },
    // Its bytes may end with an incomplete character.
    screen: ({ resync }) => {
      characters.rest();
      return stdout(concatBytes([RESET, characters.take(resync.bytes)]));
    },
    rest: () => frame(characters.rest()),
    get heldBytes() {
      return characters.held.length;
    },
  };
}
