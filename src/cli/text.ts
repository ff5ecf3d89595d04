import { characterWidth } from "../protocol/character-width.ts";

const GAP = "  ";
/** Flexible columns are not cut below this width. */
const MIN_WIDTH = 8;
/** Longer cells are cut: all other lines are as wide. Our servers have names of 256 characters, but other servers any. */
const MAX_WIDTH = 1_000;

/**
 * Aligned columns under headings, with the cells as `printable` shows them. Lines are cut to `width` columns, in the columns
 * with `flexible` headings first.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
  flexible: readonly string[] = [],
): string {
  const all = [headings, ...rows.map((row) => row.map((cell) => clipped(printable(cell), MAX_WIDTH)))];
  const widths = headings.map((_, column) =>
    all.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? "")), 0),
  );
  const isFlexible = headings.map((heading) => flexible.includes(heading));
  shrink(widths, isFlexible, width - GAP.length * (headings.length - 1));
  const lines = all.map((row) => row.map((cell, column) => padded(cell, widths[column] ?? 0)).join(GAP));
  return lines.map((line) => `${clipped(line.trimEnd(), width)}\n`).join("");
}

/** Narrows the widest flexible column until the sum fits or all are at MIN_WIDTH. */
function shrink(widths: number[], isFlexible: readonly boolean[], room: number): void {
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - room; excess > 0; excess -= 1) {
    const most = Math.max(...widths.filter((width, column) => isFlexible[column] && width > MIN_WIDTH));
    const widest = widths.findIndex((width, column) => isFlexible[column] && width === most);
    if (widest === -1) return;
    widths[widest] = most - 1;
  }
}

function padded(cell: string, width: number): string {
  const shown = clipped(cell, width);
  return shown + " ".repeat(width - displayWidth(shown));
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** Seconds in at most two units: `4d 3h`, `12m 5s`, `0s`. */
export function duration(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    if (rest >= size || parts.length > 0) parts.push(`${Math.floor(rest / size)}${unit}`);
    rest %= size;
  }
  parts.push(`${rest}s`);
  return parts.slice(0, 2).join(" ");
}

const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Replaces control characters with visible escapes. */
export function printable(text: string): string {
  return text.replace(CONTROL, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** The visible characters. Creating the first segmenter takes milliseconds: only text beyond ASCII needs one. */
function graphemes(text: string): Iterable<string> {
  if (/^[ -~]*$/.test(text)) return text;
  return Iterator.from(new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)).map(
    ({ segment }) => segment,
  );
}

export function displayWidth(text: string): number {
  let width = 0;
  for (const segment of graphemes(text)) width += characterWidth(segment);
  return width;
}

/** Cuts the text to that many columns, with an ellipsis. */
export function clipped(text: string, columns: number): string {
  let kept = "";
  let width = 0;
  // No further than the cut: the text may have a million characters.
  for (const segment of graphemes(text)) {
    width += characterWidth(segment);
    if (width > columns) return `${kept}…`;
    // Room for the ellipsis.
    if (width < columns) kept += segment;
  }
  return text;
}
