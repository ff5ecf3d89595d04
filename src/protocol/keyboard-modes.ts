// Key encodings that a program asked for and that xterm.js 6 does not know: kitty's keyboard protocol and xterm's
// modifyOtherKeys. The page encodes keys by them; the server's screens keep them for viewers that come later.
import type { ControlId } from "./parser-guard.ts";

/** Disambiguate escape codes: the only flag of kitty's protocol that is supported. */
const DISAMBIGUATE = 1;
/** How kitty's `CSI = flags ; mode u` combines the flags with those in force; 1 replaces them. */
const FLAGS_ADDED = 2;
const FLAGS_REMOVED = 3;
/** Of `CSI > 4 ; level m`. */
const OTHER_KEYS = 4;
/** Flags that a program pushed; the oldest are forgotten. */
const MAX_PUSHED = 16;

/** `first` and `second` are the parameters of a sequence; a missing one is 0. */
type OnSequence = (first: number, second: number) => void;

export class KeyboardModes {
  /** Kitty's flags; the last ones are in force. One stack for both screens. */
  #flags = [0];
  #otherKeys = 0;

  /** Whether Escape, and keys with Control or Alt, are to be sent as `CSI code ; modifiers u`. */
  get isDisambiguating(): boolean {
    return this.flags === DISAMBIGUATE;
  }

  /** As kitty's protocol reports them. */
  get flags(): number {
    return this.#flags.at(-1) ?? 0;
  }

  /** The level of modifyOtherKeys; 0: off. */
  get otherKeys(): number {
    return this.#otherKeys;
  }

  /** Follows the sequences by which programs change the modes, but for the reset (`ESC c`). */
  follow(onCsi: (id: ControlId, seen: OnSequence) => void): void {
    onCsi({ prefix: ">", final: "u" }, (flags) => {
      this.#flags = [...this.#flags, flags & DISAMBIGUATE].slice(-MAX_PUSHED);
    });
    onCsi({ prefix: "<", final: "u" }, (count) => {
      const left = this.#flags.slice(0, -Math.max(1, count));
      this.#flags = left.length === 0 ? [0] : left;
    });
    onCsi({ prefix: "=", final: "u" }, (flags, mode) => {
      const [supported, before] = [flags & DISAMBIGUATE, this.flags];
      const added = mode === FLAGS_ADDED ? before | supported : supported;
      this.#flags = [...this.#flags.slice(0, -1), mode === FLAGS_REMOVED ? before & ~supported : added];
    });
    onCsi({ prefix: ">", final: "m" }, (resource, level) => {
      if (resource === OTHER_KEYS) this.#otherKeys = level;
    });
  }

  reset(): void {
    this.#flags = [0];
    this.#otherKeys = 0;
  }

  /** Sequences that lead from a reset to these modes. */
  get sequences(): string {
    const [first = 0, ...pushed] = this.#flags;
    const otherKeys = this.#otherKeys === 0 ? "" : `\x1b[>${OTHER_KEYS};${this.#otherKeys}m`;
    return `${first === 0 ? "" : `\x1b[=${first}u`}${pushed.map((flags) => `\x1b[>${flags}u`).join("")}${otherKeys}`;
  }
}
