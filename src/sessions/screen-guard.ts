import type { ScreenCore } from "./screen-core.ts";
import type { CoreParameters } from "./screen-internals.ts";

/** Sequences that do the same again and again: no more often than anything changes. */
const REPEATED_LINES = ["L", "M", "S", "T"];
const REPEATED_TABS = ["I", "Z"];

/**
 * Keeps what a program writes from stopping the thread that parses the screens of all: xterm.js 6 repeats a sequence as
 * often as its number says, up to 2^31 times, and throws where the screen is erased up to its last cell.
 */
export function guardParser(
  core: ScreenCore,
  size: () => { readonly cols: number; readonly rows: number },
): void {
  for (const final of REPEATED_LINES) core.beforeCsi({ final }, (sequence) => limit(sequence, size().rows));
  for (const final of REPEATED_TABS) core.beforeCsi({ final }, (sequence) => limit(sequence, size().cols));
  // A whole screen of one character: as much as xterm repeats.
  core.beforeCsi({ final: "b" }, (sequence) => limit(sequence, size().cols * size().rows));
  const eraseUpTo = (sequence: CoreParameters): void => {
    const { x, y, ybase, lines } = core.active;
    const isAll = x + 1 >= size().cols && y === size().rows - 1;
    // It looks for a line below, in the wrong place.
    if (sequence.params[0] === 1 && isAll && ybase + y + 1 >= lines.length) sequence.params[0] = 2;
  };
  core.beforeCsi({ final: "J" }, eraseUpTo);
  core.beforeCsi({ prefix: "?", final: "J" }, eraseUpTo);
}

function limit({ params }: CoreParameters, most: number): void {
  params[0] = Math.min(params[0] ?? 0, most);
}
