// The screen as text (contract 2.5, facts 3.8): rows joined by LF, without spaces at their ends and blank rows at the end.
import type { CellColour } from "../../../protocol/frame/snapshot-cell.ts";
import type { View } from "../../backend.ts";
import type { CoreLine } from "./core.ts";
import { attributesOf, cellStyle, colorOf, isStyledAlike, type Style } from "./style.ts";
import type { ScreenTerminal } from "./terminal.ts";

type TextView = Omit<Extract<View, { kind: "text" }>, "kind">;

export function screenText(terminal: ScreenTerminal, { scrollback, styles }: TextView): string {
  const { lines, ybase } = terminal.core.buffers.active;
  const { cols, rows } = terminal.size;
  const first = scrollback ? 0 : ybase;
  const texts = Array.from({ length: ybase + rows - first }, (_, row) => {
    const line = lines.get(first + row);
    return line === undefined ? "" : lineText(line, cols, styles);
  });
  return texts.slice(0, texts.findLastIndex((text) => text !== "") + 1).join("\n");
}

/** A space, and the second half of a wide character. */
const BLANK = new Set([" ", ""]);

type Run = { readonly attributes: string; text: string };

function lineText(line: CoreLine, cols: number, styles: boolean): string {
  const runs: Run[] = [];
  const attributesAt = (column: number): string => (styles ? styleAttributes(cellStyle(line, column)) : "");
  const end = textEnd(line, cols);
  let before = 0;
  for (let column = 0; column < end; column++) {
    const text = cellText(line, column);
    if (text === "") continue;
    const last = runs.at(-1);
    const isAlike = last !== undefined && (!styles || isStyledAlike(line, before, column));
    const attributes = isAlike ? last.attributes : attributesAt(column);
    if (last?.attributes === attributes) last.text += text;
    else runs.push({ attributes, text });
    before = column;
  }
  return runs
    .map((run) => (run.attributes === "" ? run.text : `[style ${run.attributes}]${run.text}[/style]`))
    .join("");
}

/** The column after the last cell that is no space. */
function textEnd(line: CoreLine, cols: number): number {
  let end = Math.min(cols, line.length);
  while (end > 0 && BLANK.has(cellText(line, end - 1))) end--;
  return end;
}

/** Empty for the second half of a wide character. */
export function cellText(line: CoreLine, column: number): string {
  if (line.hasContent(column) !== 0) return line.getString(column);
  const isHalf = line.getWidth(column) === 0 && column > 0 && line.getWidth(column - 1) === 2;
  return isHalf ? "" : " ";
}

function styleAttributes(style: Style): string {
  return [
    colorAttribute("fg", colorOf(style.fg)),
    colorAttribute("bg", colorOf(style.bg)),
    ...attributesOf(style).map(({ name = "" }) => name),
  ]
    .filter((attribute) => attribute !== "")
    .join(" ");
}

function colorAttribute(name: string, color: CellColour | undefined): string {
  if (color === undefined) return "";
  return `${name}="${typeof color === "number" ? color : `${color.r},${color.g},${color.b}`}"`;
}
