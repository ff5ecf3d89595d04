// The history of a client without offsets begins at the last clear of the screen (contract 1.7, facts 7.5).

/** ESC c; CSI 2J, 3J; CSI ?47h/l, ?1047h/l, ?1049h/l. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what this is about
const CLEAR = /\x1bc|\x1b\[[23]J|\x1b\[\?(?:47|1047|1049)[hl]/g;
/** The home and erase sequences that programs put around a clear: the history begins before all of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what this is about
const BEFORE_CLEAR = /(?:\x1b\[(?:1;1)?H|\x1b\[[0-3]?J|\x1b\[0?m)+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what this is about
const PRIVATE_MODES = /\x1b\[\?([0-9;]+)([hl])/g;

type ClearPoint = {
  /** Index of the first byte of the history. */
  readonly index: number;
  /** Sequences that set the private modes in effect there (bracketed paste, mouse, application keys). */
  readonly modes: string;
};

/** The last clear in `bytes`; undefined if there is none. The history includes the clear sequence. */
export function lastClearPoint(bytes: Uint8Array): ClearPoint | undefined {
  // One character per byte, so that indexes of the text are indexes of the bytes.
  const text = new TextDecoder("latin1").decode(bytes);
  let clear: RegExpExecArray | undefined;
  for (const match of text.matchAll(CLEAR)) clear = match;
  if (clear === undefined) return undefined;
  const before = text.slice(0, clear.index);
  const index = clear.index - (BEFORE_CLEAR.exec(before.slice(-64))?.[0].length ?? 0);
  return { index, modes: modesAfter(text.slice(0, index)) };
}

function modesAfter(text: string): string {
  const modes = new Map<string, string>();
  for (const [, numbers = "", action = ""] of text
    .slice(text.lastIndexOf("\x1bc") + 1)
    .matchAll(PRIVATE_MODES)) {
    for (const mode of numbers.split(";")) {
      modes.delete(mode);
      modes.set(mode, action);
    }
  }
  return [...modes].map(([mode, action]) => `\x1b[?${mode}${action}`).join("");
}
