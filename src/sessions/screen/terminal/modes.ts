import type { ScreenCore } from "./core.ts";

const MOUSE_PROTOCOLS: Readonly<Record<string, number>> = { X10: 9, VT200: 1000, DRAG: 1002, ANY: 1003 };
const MOUSE_ENCODINGS: Readonly<Record<string, number>> = { SGR: 1006, SGR_PIXELS: 1016 };
/** The parameter of DECSCUSR for a blinking cursor; one more is steady. */
const CURSOR_STYLES = { block: 1, underline: 3, bar: 5 } as const;
/** A cursor whose style the program did not choose but whether it blinks. */
const ANY_CURSOR_STYLE = 7;

/**
 * Sets the modes in force, from those of a reset terminal; none of it moves the cursor. Synchronized output (2026) is
 * left off: a screen that is sent is there to be seen. Origin mode (6) moves the cursor and is not here.
 */
export function modeSequences(core: ScreenCore): string {
  const { mouse, service } = core;
  const modes = service.decPrivateModes;
  return [
    core.service.modes.insertMode ? "\x1b[4h" : "",
    // A client's xterm.js keeps a hidden cursor when it is reset.
    core.options.convertEol ? "\x1b[20h" : "",
    core.service.isCursorHidden ? "\x1b[?25l" : "\x1b[?25h",
    core.options.cursorBlink ? "\x1b[?12h" : "",
    modes.wraparound ? "" : "\x1b[?7l",
    modes.reverseWraparound ? "\x1b[?45h" : "",
    modes.applicationCursorKeys ? "\x1b[?1h" : "",
    modes.applicationKeypad ? "\x1b=" : "",
    modes.bracketedPasteMode ? "\x1b[?2004h" : "",
    modes.sendFocus ? "\x1b[?1004h" : "",
    privateMode(MOUSE_PROTOCOLS[mouse.activeProtocol]),
    privateMode(MOUSE_ENCODINGS[mouse.activeEncoding]),
    cursorStyle(core),
  ].join("");
}

function privateMode(number: number | undefined): string {
  return number === undefined ? "" : `\x1b[?${number}h`;
}

function cursorStyle({ service }: ScreenCore): string {
  const { cursorStyle: style, cursorBlink } = service.decPrivateModes;
  if (cursorBlink === undefined) return "";
  const blinking = style === undefined ? ANY_CURSOR_STYLE : CURSOR_STYLES[style];
  return `\x1b[${cursorBlink ? blinking : blinking + 1} q`;
}
