// Output for clients without offsets (contract 1.4).
import { concatBytes } from "../../lib/data/collect.ts";
import { encodeFrame, FrameType, type Magic } from "../../protocol/frame/frame.ts";
import { WholeCharacters } from "../../protocol/whole-characters.ts";
import type { OutputEncoder } from "../feed.ts";

/** ESC c resets a terminal. */
const RESET = new Uint8Array([0x1b, 0x63]);

/** STDOUT frames that never cut a UTF-8 character; a screen follows a reset. */
export function stdoutEncoder(sessionId: string, magic: Magic): OutputEncoder {
  const characters = new WholeCharacters();
  const stdout = (bytes: Uint8Array): Uint8Array => encodeFrame(FrameType.STDOUT, sessionId, bytes, magic);
  const unlessEmpty = (bytes: Uint8Array): Uint8Array | undefined =>
    bytes.length === 0 ? undefined : stdout(bytes);
  return {
    output: (_, bytes, run) => {
      const whole = characters.take(bytes);
      return whole === bytes && run !== undefined ? run.stdout(magic) : unlessEmpty(whole);
    },
    // Its bytes may end with an incomplete character.
    screen: ({ bytes }) => {
      characters.rest();
      return stdout(concatBytes([RESET, characters.take(bytes)]));
    },
    rest: () => unlessEmpty(characters.rest()),
    get heldBytes() {
      return characters.held.length;
    },
  };
}
