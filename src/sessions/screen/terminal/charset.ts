import type { CoreCharset, ScreenCore } from "./core.ts";

/** The sets that xterm.js knows beside US ASCII, by the letter that designates them. */
const LETTERS = "0A4CRQKYEZH=";
/** Between ESC and the letter, for G0 to G3. */
const DESIGNATORS = ["(", ")", "*", "+"] as const;
/** What makes G0 to G3 the set in use. */
const SHIFTS = ["\x0f", "\x0e", "\x1bn", "\x1bo"] as const;

/** Says which sequences bring about the character sets of a terminal. */
export class ScreenCharsets {
  readonly #letters = new Map<CoreCharset, string>();

  /** `core` is that of a new terminal and is left as it was. */
  constructor(core: ScreenCore) {
    const encoder = new TextEncoder();
    for (const letter of LETTERS) {
      core.input.parse(encoder.encode(`\x1b(${letter}`));
      this.#letters.set(core.charsets._charsets[0], letter);
    }
    core.input.parse(encoder.encode("\x1b(B"));
  }

  /** Makes it the set of G0 to G3. */
  designate(level: number, charset: CoreCharset): string {
    return `\x1b${DESIGNATORS[level]}${this.#letters.get(charset) ?? "B"}`;
  }

  /** From all ASCII and G0 in use to what is in force now. */
  sequences(core: ScreenCore): string {
    const designations = DESIGNATORS.map((_, level) => {
      const charset = core.charsets._charsets[level];
      return charset === undefined ? "" : this.designate(level, charset);
    });
    const shift = core.charsets.glevel === 0 ? "" : (SHIFTS[core.charsets.glevel] ?? "");
    return designations.join("") + shift;
  }
}
