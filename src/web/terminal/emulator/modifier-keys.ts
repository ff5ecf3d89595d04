import { type ReadonlySignal, signal } from "@preact/signals";

/** `once`: for the next key. `locked`: for every key until the next tap. */
export type ModifierState = "off" | "once" | "locked";
export type ModifierName = "ctrl" | "alt";

const AFTER_TAP: Readonly<Record<ModifierState, ModifierState>> = {
  off: "once",
  once: "locked",
  locked: "off",
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Control and Alt for a keyboard that lacks them: tapped before the key. */
export class ModifierKeys {
  readonly #states = { ctrl: signal<ModifierState>("off"), alt: signal<ModifierState>("off") };

  state(name: ModifierName): ReadonlySignal<ModifierState> {
    return this.#states[name];
  }

  tap(name: ModifierName): void {
    const state = this.#states[name];
    state.value = AFTER_TAP[state.peek()];
  }

  /** Applies the modifiers to typed keys. Pastes, mouse reports and answers to the program stay unchanged. */
  meant(typed: Uint8Array): Uint8Array {
    const { ctrl, alt } = this.#states;
    const isHeld = { ctrl: ctrl.peek() !== "off", alt: alt.peek() !== "off" };
    const text = isHeld.ctrl || isHeld.alt ? withModifiers(decoder.decode(typed), isHeld) : undefined;
    if (text === undefined) return typed;
    for (const state of [ctrl, alt]) if (state.peek() === "once") state.value = "off";
    return encoder.encode(text);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: cursor keys are control sequences
const CURSOR_KEY = /^\x1b[[O]([ABCDHF])$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: page keys are control sequences
const PAGE_KEY = /^\x1b\[([56])~$/;

/** xterm's encoding of the key; undefined unless it is a single key. */
function withModifiers(typed: string, held: Readonly<Record<ModifierName, boolean>>): string | undefined {
  const number = 1 + (held.alt ? 2 : 0) + (held.ctrl ? 4 : 0);
  const [, cursor] = CURSOR_KEY.exec(typed) ?? [];
  if (cursor !== undefined) return `\x1b[1;${number}${cursor}`;
  const [, page] = PAGE_KEY.exec(typed) ?? [];
  if (page !== undefined) return `\x1b[${page};${number}~`;
  if ([...typed].length !== 1) return undefined;
  return `${held.alt ? "\x1b" : ""}${held.ctrl ? asControl(typed) : typed}`;
}

/** The control character of a letter, a space, or one of `@[\]^_`; any other text unchanged. */
function asControl(character: string): string {
  if (character === " ") return "\0";
  return /^[@-~]$/.test(character) ? String.fromCharCode(character.charCodeAt(0) & 0x1f) : character;
}
