// The special keys of INPUT_KEY and of the REST field `key` (facts 1.10). Arrows are the CSI form in every mode.

const KEYS: ReadonlyMap<string, string> = new Map([
  ["arrow_up", "\x1b[A"],
  ["arrow_down", "\x1b[B"],
  ["arrow_right", "\x1b[C"],
  ["arrow_left", "\x1b[D"],
  ["escape", "\x1b"],
  ["enter", "\r"],
  ["ctrl_enter", "\n"],
  ["shift_enter", "\r\n"],
  ["backspace", "\x7f"],
  ["tab", "\t"],
  ["shift_tab", "\x1b[Z"],
  ["home", "\x1b[H"],
  ["end", "\x1b[F"],
  ["delete", "\x1b[3~"],
  ["page_up", "\x1b[5~"],
  ["page_down", "\x1b[6~"],
  ["f1", "\x1bOP"],
  ["f2", "\x1bOQ"],
  ["f3", "\x1bOR"],
  ["f4", "\x1bOS"],
  ["f5", "\x1b[15~"],
  ["f6", "\x1b[17~"],
  ["f7", "\x1b[18~"],
  ["f8", "\x1b[19~"],
  ["f9", "\x1b[20~"],
  ["f10", "\x1b[21~"],
  ["f11", "\x1b[23~"],
  ["f12", "\x1b[24~"],
]);

const encoder = new TextEncoder();

/** The 28 names, in the order of the documentation. */
export const KEY_NAMES: readonly string[] = [...KEYS.keys()];

/** The bytes that a key sends to the program; `undefined` for an unknown name. */
export function keyBytes(name: string): Uint8Array<ArrayBuffer> | undefined {
  const sequence = KEYS.get(name);
  return sequence === undefined ? undefined : encoder.encode(sequence);
}
