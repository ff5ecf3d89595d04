// Escape sequences for the user's own terminal, around a session's screen.

const SAVE_CURSOR = "\x1b7";
const RESTORE_CURSOR = "\x1b8";

/**
 * Resets scroll region, origin mode, mouse and focus reports, bracketed paste, key encodings, insert, newline and wrap
 * modes, cursor, colours and character sets, without moving the cursor or clearing the screen.
 */
export const PLAIN_MODES = [
  SAVE_CURSOR,
  "\x1b[?6l\x1b[r",
  RESTORE_CURSOR,
  "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l",
  "\x1b[?1004l\x1b[?2004l\x1b[?2026l",
  "\x1b[?1l\x1b>\x1b[4l\x1b[20l\x1b[?7h\x1b[?45l",
  "\x1b[<u\x1b[>4m",
  "\x1b[?25h\x1b[0 q",
  "\x1b(B\x0f\x1b[0m",
].join("");

export const LEAVE_ALTERNATE_SCREEN = "\x1b[?1049l";

/** An empty screen with the cursor at its start; keeps the scrollback. */
export const CLEAR_SCREEN = "\x1b[H\x1b[2J";

/** Text on the last row, in reverse colours; keeps the cursor. */
export function statusRow(text: string, rows: number): string {
  return `${SAVE_CURSOR}\x1b[${rows};1H\x1b[0;7m\x1b[2K${text}${RESTORE_CURSOR}`;
}

export function erasedRow(row: number): string {
  return `${SAVE_CURSOR}\x1b[${row};1H\x1b[0m\x1b[2K${RESTORE_CURSOR}`;
}

const KEPT_BYTES = 7;
// 47 and 1047 are older forms of 1049. ESC c resets the terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: ESC is what is looked for
const SWITCH = /\x1b(?:\[\?(?:1049|1047|47)([hl])|c)/g;

/** Tracks whether the output has switched to the alternate screen. */
export class AlternateScreen {
  #isActive = false;
  /** The end of the last chunk, for split sequences. */
  #tail = "";

  get isActive(): boolean {
    return this.#isActive;
  }

  shown(bytes: Uint8Array): void {
    // One character for each byte: the sequences are ASCII.
    const text = this.#tail + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    this.#tail = text.slice(-KEPT_BYTES);
    for (const [, switched] of text.matchAll(SWITCH)) this.#isActive = switched === "h";
  }
}
