// Restrictions of xterm.js 6 for the server's screens and the page's terminals, so that the same output gives the same
// screen on both sides and blocks neither.
import type { TerminalSize } from "./schemas/session.ts";

/** Access to the parser of xterm.js, which differs between the two. */
export type GuardedParser = {
  /** The active buffer: cursor, first line of the screen, lines. */
  readonly active: {
    readonly x: number;
    readonly y: number;
    readonly ybase: number;
    readonly lines: { readonly length: number };
  };
  /** Calls `seen` before xterm.js handles such a sequence. */
  beforeCsi(id: ControlId, seen: (sequence: ControlSequence) => void): void;
  /** Of this terminal alone: its method is replaced. */
  readonly unicode: CharacterTable;
};

/** The join state after a character, from that before it. Bit 0: it joins the one before. */
export type CharacterTable = { charProperties(codePoint: number, before: number): number };

/** A control sequence: its final byte and its private prefix, if any. */
export type ControlId = { readonly prefix?: string; readonly final: string };

/** The parameters of a control sequence, which may be changed. A missing first one is 0; others are there up to `length`. */
export type ControlSequence = { readonly params: Int32Array; readonly length: number };

/** Sequences that repeat an operation, limited to the number of lines or columns. */
const REPEATED_LINES = ["L", "M", "S", "T"];
const REPEATED_TABS = ["I", "Z"];

/** Marks and other characters that join one; a further one begins a cell. Unicode's stream-safe text has at most 30. */
const MAX_JOINED = 32;
const JOINS = 1;
/** Bits of a join state that xterm.js does not use after a character that joins: their number. */
const JOINED_SHIFT = 20;

/**
 * Keeps output from blocking the thread that parses it, and from filling its memory: xterm.js 6 repeats a sequence up to 2^31
 * times, joins any number of characters, and throws when the screen is erased up to its last cell. `size` is called each time.
 */
export function guardParser(parser: GuardedParser, size: () => TerminalSize): void {
  for (const final of REPEATED_LINES) parser.beforeCsi({ final }, (sequence) => limit(sequence, size().rows));
  for (const final of REPEATED_TABS) parser.beforeCsi({ final }, (sequence) => limit(sequence, size().cols));
  // Repeats a character at most over the whole screen.
  parser.beforeCsi({ final: "b" }, (sequence) => limit(sequence, size().cols * size().rows));
  const eraseUpTo = (sequence: ControlSequence): void => {
    const { x, y, ybase, lines } = parser.active;
    const isAll = x + 1 >= size().cols && y === size().rows - 1;
    // xterm.js accesses a line below, which does not exist.
    if (sequence.params[0] === 1 && isAll && ybase + y + 1 >= lines.length) sequence.params[0] = 2;
  };
  parser.beforeCsi({ final: "J" }, eraseUpTo);
  parser.beforeCsi({ prefix: "?", final: "J" }, eraseUpTo);
  limitJoined(parser.unicode);
}

function limitJoined(table: CharacterTable): void {
  const original = table.charProperties.bind(table);
  table.charProperties = (codePoint, before) => {
    const state = original(codePoint, before);
    if ((state & JOINS) === 0) return state;
    const joined = 1 + ((before & JOINS) === 0 ? 0 : before >> JOINED_SHIFT);
    return joined > MAX_JOINED ? original(codePoint, 0) : state | (joined << JOINED_SHIFT);
  };
}

function limit({ params }: ControlSequence, most: number): void {
  params[0] = Math.min(params[0] ?? 0, most);
}
