// Keys that xterm.js 6 cannot distinguish, such as Enter with and without Shift, in the encoding that the program
// requested.
import { isComposing } from "../../composition.ts";

export type KeyPress = Pick<
  KeyboardEvent,
  | "key"
  | "code"
  | "keyCode"
  | "shiftKey"
  | "altKey"
  | "ctrlKey"
  | "metaKey"
  | "isComposing"
  | "getModifierState"
>;

export type KeyModes = {
  readonly isDisambiguating: boolean;
  readonly otherKeys: number;
  /** Whether the program requested focus reports. */
  readonly reportsFocus: boolean;
};

/** Keys with a control character of their own, by its code. */
const CONTROL_KEYS: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Escape: 27, Backspace: 127 };
const ESCAPE = 27;
const SHIFT = 1;
const ALT = 2;
const CONTROL = 4;

/** Undefined if xterm.js, or the browser, handles the key correctly. */
export function encodeKey(press: KeyPress, modes: KeyModes): string | undefined {
  if (isComposing(press) || press.metaKey || press.getModifierState("AltGraph")) return undefined;
  const held = (press.shiftKey ? SHIFT : 0) + (press.altKey ? ALT : 0) + (press.ctrlKey ? CONTROL : 0);
  const code = CONTROL_KEYS[press.key];
  if (modes.isDisambiguating) {
    if (code === undefined) return textKey(press, held);
    return held === 0 && code !== ESCAPE ? undefined : kittyKey(code, held);
  }
  if (press.key !== "Enter" || (held !== SHIFT && held !== CONTROL)) return undefined;
  if (modes.otherKeys > 0) return `\x1b[27;${held + 1};13~`;
  // Coding agents that support this key also request focus reports. Shells do not, and would show the sequence.
  return modes.reportsFocus && held === SHIFT ? kittyKey(13, held) : undefined;
}

function kittyKey(code: number, held: number): string {
  return held === 0 ? `\x1b[${code}u` : `\x1b[${code};${held + 1}u`;
}

/** Keys of the browser's zoom, which xterm.js leaves alone as well. */
const ZOOM = /^[-+=0]$/;

/** With Control or Alt. Control and Shift with a letter belong to the page and the browser. */
function textKey({ key, code }: KeyPress, held: number): string | undefined {
  if ((held & (CONTROL | ALT)) === 0 || [...key].length !== 1) return undefined;
  if (held === (CONTROL | SHIFT) || (held === CONTROL && ZOOM.test(key))) return undefined;
  return kittyKey(baseCharacter(key, code).codePointAt(0) ?? 0, held);
}

/** Without Shift, and in Latin letters on other keyboards: `code` is the key's position. */
function baseCharacter(key: string, code: string): string {
  const [, letter, digit] = /^(?:Key([A-Z])|Digit(\d))$/.exec(code) ?? [];
  if (digit !== undefined) return digit;
  return letter !== undefined && !/^[A-Za-z]$/.test(key) ? letter.toLowerCase() : key.toLowerCase();
}
