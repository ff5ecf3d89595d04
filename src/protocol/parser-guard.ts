// What the server's screens and the page's terminals do alike to xterm.js 6, so that the same output ends in the same
// screen on both sides and stops neither.
import type { TerminalSize } from "./schemas/session.ts";

/** The way to where xterm.js parses, of each side its own. */
export type GuardedParser = {
  /** The buffer that is written to: where the cursor is, what was scrolled off, what there is of lines. */
  readonly active: {
    readonly x: number;
    readonly y: number;
    readonly ybase: number;
    readonly lines: { readonly length: number };
  };
  /** Called before xterm.js acts on such a sequence. */
  beforeCsi(id: ControlId, seen: (sequence: ControlSequence) => void): void;
};

/** A control sequence: its last byte and, where it has one, its private prefix. */
export type ControlId = { readonly prefix?: string; readonly final: string };

/** The numbers of a control sequence; a missing one is 0. They may be written to before xterm.js acts on them. */
export type ControlSequence = { readonly params: Int32Array };

/** Sequences that do the same again and again: no more often than anything changes. */
const REPEATED_LINES = ["L", "M", "S", "T"];
const REPEATED_TABS = ["I", "Z"];

/**
 * Keeps what a program writes from stopping the thread that parses it: xterm.js 6 repeats a sequence as often as its
 * number says, up to 2^31 times, and throws where the screen is erased up to its last cell. `size` is asked each time.
 */
export function guardParser(parser: GuardedParser, size: () => TerminalSize): void {
  for (const final of REPEATED_LINES) parser.beforeCsi({ final }, (sequence) => limit(sequence, size().rows));
  for (const final of REPEATED_TABS) parser.beforeCsi({ final }, (sequence) => limit(sequence, size().cols));
  // A whole screen of one character: as much as xterm repeats.
  parser.beforeCsi({ final: "b" }, (sequence) => limit(sequence, size().cols * size().rows));
  const eraseUpTo = (sequence: ControlSequence): void => {
    const { x, y, ybase, lines } = parser.active;
    const isAll = x + 1 >= size().cols && y === size().rows - 1;
    // It looks for a line below, in the wrong place.
    if (sequence.params[0] === 1 && isAll && ybase + y + 1 >= lines.length) sequence.params[0] = 2;
  };
  parser.beforeCsi({ final: "J" }, eraseUpTo);
  parser.beforeCsi({ prefix: "?", final: "J" }, eraseUpTo);
}

function limit({ params }: ControlSequence, most: number): void {
  params[0] = Math.min(params[0] ?? 0, most);
}
