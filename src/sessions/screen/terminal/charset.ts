import type { CoreCharset, ScreenCore } from "./core.ts";

/** Designators of the sets of xterm.js besides US ASCII. */
const LETTERS = "0A4CRQKYEZH=";
/** For G0 to G3: between ESC and the letter. */
const DESIGNATORS = ["(", ")", "*", "+"] as const;
const SHIFTS = ["\x0f", "\x0e", "\x1bn", "\x1bo"] as const;

/** The sequences that set the character sets of a terminal. */
export class ScreenCharsets {
  readonly #letters = new Map<CoreCharset, string>();

  /** `core`: of a new terminal; unchanged afterwards. */
  constructor(core: ScreenCore) {
    const encoder = new TextEncoder();
    for (const letter of LETTERS) {
      core.input.parse(encoder.encode(`\x1b(${letter}`));
      this.#letters.set(core.charsets._charsets[0], letter);
    }
    core.input.parse(encoder.encode("\x1b(B"));
  }

  designate(level: number, charset: CoreCharset): string {
    return `\x1b${DESIGNATORS[level]}${this.#letters.get(charset) ?? "B"}`;
  }

  /** From ASCII in G0 to the current sets. */
  sequences(core: ScreenCore): string {
    const designations = DESIGNATORS.map((_, level) => {
      const charset = core.charsets._charsets[level];
      return charset === undefined ? "" : this.designate(level, charset);
    });
    const shift = core.charsets.glevel === 0 ? "" : (SHIFTS[core.charsets.glevel] ?? "");
    return designations.join("") + shift;
  }
}
