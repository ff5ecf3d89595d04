import { ConfigError } from "../../config/config-error.ts";
import type { ProcessContext } from "../process-context.ts";

type Key = readonly Uint8Array[];

export type DetachKeys = { readonly keys: readonly Key[]; readonly text: string };

/** Twice, quickly: a single ctrl-\ ends an unresponsive program and must reach it. */
export const DEFAULT_DETACH_KEYS = "ctrl-\\,ctrl-\\";

/** Maximum pause between two of the keys; then they are sent to the program. */
export const DETACH_WINDOW_MS = 500;

const encoder = new TextEncoder();
const NOTHING = new Uint8Array();
/** Kitty's modifiers of a key with ctrl: alone, with caps lock, with num lock, with both. */
const KITTY_CTRL = [5, 69, 133, 197];
const CTRL = /^ctrl-([a-z@[\\\]^_])$/;

/**
 * Parses `ctrl-p,ctrl-q`: keys separated by commas, each one character or `ctrl-` with a letter or one of @[\]^_; or
 * "none". Throws RangeError "must be …".
 */
export function parseDetachKeys(text: string): DetachKeys {
  if (text === "none") return { keys: [], text };
  const words = text.split(",");
  const keys = words.map(keyOf);
  if (keys.length > 8) throw new RangeError("must be at most 8 keys");
  return { keys, text };
}

function keyOf(word: string): Key {
  const letter = CTRL.exec(word.toLowerCase())?.[1];
  if (letter !== undefined) {
    const code = letter.charCodeAt(0);
    // Plain, in the kitty protocol, and with xterm's modifyOtherKeys.
    return [
      Uint8Array.of(code & 0x1f),
      ...KITTY_CTRL.map((modifiers) => encoder.encode(`\x1b[${code};${modifiers}u`)),
      encoder.encode(`\x1b[27;5;${code}~`),
    ];
  }
  if ([...word].length !== 1) throw new RangeError("must be keys such as ctrl-p,ctrl-q, or none");
  return [encoder.encode(word)];
}

/** Finds the detach keys in the input. A possible beginning is held back until `release` or the next key. */
export class DetachScanner {
  readonly #keys: readonly Key[];
  #held: Uint8Array = NOTHING;

  /** Without keys all input passes. */
  constructor({ keys }: Pick<DetachKeys, "keys">) {
    this.#keys = keys;
  }

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** Returns the input for the session, and whether the detach keys were complete. */
  scan(input: Uint8Array): { readonly pass: Uint8Array; readonly isDetached: boolean } {
    if (this.#keys.length === 0) return { pass: input, isDetached: false };
    const text = Buffer.concat([this.release(), input]);
    for (let at = 0; at < text.length; at += 1) {
      const { end, isComplete } = this.#match(text, at);
      if (!isComplete && end < text.length) continue;
      if (!isComplete) this.#held = text.subarray(at);
      return { pass: text.subarray(0, at), isDetached: isComplete };
    }
    return { pass: text, isDetached: false };
  }

  release(): Uint8Array {
    const held = this.#held;
    this.#held = NOTHING;
    return held;
  }

  /** The end of the detach keys, or of their beginning, at a place of the input. */
  #match(text: Uint8Array, at: number): { readonly end: number; readonly isComplete: boolean } {
    let end = at;
    for (const key of this.#keys) {
      const form = key.find((bytes) => bytes.every((byte, i) => text[end + i] === byte));
      if (form === undefined) return { end, isComplete: false };
      end += form.length;
    }
    return { end, isComplete: true };
  }
}

const CTRL_C = parseDetachKeys("ctrl-c");

/** Whether ctrl-c is among the keys, in any encoding that a program may have asked the terminal for. */
export function hasCtrlC(input: Uint8Array): boolean {
  return new DetachScanner(CTRL_C).scan(input).isDetached;
}

/** The flag, the variable or the default. Throws ConfigError for an invalid variable. */
export function detachKeysOf(
  given: DetachKeys | undefined,
  { TTYHQ_DETACH_KEYS: text }: ProcessContext["env"],
): DetachKeys {
  if (given !== undefined) return given;
  try {
    // An empty variable is none.
    return parseDetachKeys(text || DEFAULT_DETACH_KEYS);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError([`TTYHQ_DETACH_KEYS: ${error.message}, not ${JSON.stringify(text)}`]);
  }
}
