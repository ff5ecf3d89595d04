// Draws a screen onto a canvas, as large as possible. A picture to recognise a session by, not a terminal.
import { characterWidth } from "../../protocol/character-width.ts";
import type { ScreenSnapshot } from "../../protocol/frame/snapshot.ts";
import { CellAttribute, type CellColour, type SnapshotCell } from "../../protocol/frame/snapshot-cell.ts";
import type { TerminalSize } from "../../protocol/schemas/session.ts";
import { ansiColors, type Palette } from "../terminal/emulator/palette.ts";

/** Height of a cell, relative to its width. */
const CELL_RATIO = 2;

/** `fontFamily`: monospaced. The canvas keeps its size; all its pixels are redrawn. */
export function drawScreen(
  canvas: HTMLCanvasElement,
  screen: ScreenSnapshot,
  size: TerminalSize,
  { palette, fontFamily }: { readonly palette: Palette; readonly fontFamily: string },
): void {
  const context = canvas.getContext("2d", { alpha: false });
  if (context === null) return;
  const { width, height } = canvas;
  const cell = Math.min(width / size.cols, height / (size.rows * CELL_RATIO));
  context.fillStyle = palette.background;
  context.fillRect(0, 0, width, height);
  context.textBaseline = "middle";
  const ansi = ansiColors(palette);
  context.font = `100px ${fontFamily}`;
  context.font = `${(100 * cell) / context.measureText("M").width}px ${fontFamily}`;
  for (const [row, cells] of screen.rows.entries()) {
    for (const run of runsOf(cells)) {
      const [ink, ground] = colours(run, palette, ansi);
      const [x, y] = [run.column * cell, row * cell * CELL_RATIO];
      if (ground !== undefined) {
        context.fillStyle = ground;
        // Avoids seams between neighbours.
        context.fillRect(
          Math.floor(x),
          Math.floor(y),
          Math.ceil(run.columns * cell),
          Math.ceil(cell * CELL_RATIO),
        );
      }
      if (ink === undefined || run.text.trim() === "") continue;
      context.fillStyle = ink;
      context.fillText(run.text, x, y + (cell * CELL_RATIO) / 2);
    }
  }
}

/** Neighbouring cells of equal style are drawn together. */
type Run = {
  readonly column: number;
  columns: number;
  text: string;
  readonly style: SnapshotCell;
};

function runsOf(cells: readonly SnapshotCell[]): readonly Run[] {
  const runs: Run[] = [];
  let column = 0;
  for (const cell of cells) {
    // Other characters may be wider than a cell, so each is placed separately.
    const isPlain = cell.text.length <= 1 && cell.text <= "~";
    const columns = isPlain ? 1 : characterWidth(cell.text);
    const run = runs.at(-1);
    if (run !== undefined && isPlain && run.columns === run.text.length && isAlike(run.style, cell)) {
      run.text += cell.text || " ";
      run.columns += 1;
    } else runs.push({ column, columns, text: cell.text || " ", style: cell });
    column += columns;
  }
  return runs;
}

function isAlike(one: SnapshotCell, other: SnapshotCell): boolean {
  return (
    one.attributes === other.attributes && isSameColour(one.fg, other.fg) && isSameColour(one.bg, other.bg)
  );
}

function isSameColour(one: CellColour | undefined, other: CellColour | undefined): boolean {
  if (typeof one !== "object" || typeof other !== "object") return one === other;
  return one.r === other.r && one.g === other.g && one.b === other.b;
}

/** Foreground and background colours; undefined: nothing is drawn. */
function colours(
  { style: { fg, bg, attributes } }: Run,
  palette: Palette,
  ansi: readonly string[],
): readonly [string | undefined, string | undefined] {
  const ink = fg === undefined ? palette.foreground : colourOf(fg, ansi);
  const ground = bg === undefined ? undefined : colourOf(bg, ansi);
  if ((attributes & CellAttribute.Inverse) !== 0) return [ground ?? palette.background, ink];
  return [(attributes & CellAttribute.Invisible) !== 0 ? undefined : ink, ground];
}

/** `ansi`: the first 16 colours. */
function colourOf(colour: CellColour, ansi: readonly string[]): string {
  if (typeof colour === "object") return rgb(colour.r, colour.g, colour.b);
  const named = ansi[colour];
  if (named !== undefined) return named;
  if (colour >= 232) {
    const level = 8 + 10 * (colour - 232);
    return rgb(level, level, level);
  }
  const step = (index: number): number => (index === 0 ? 0 : 55 + 40 * index);
  const cube = colour - 16;
  return rgb(step(Math.floor(cube / 36)), step(Math.floor(cube / 6) % 6), step(cube % 6));
}

function rgb(r: number, g: number, b: number): string {
  return `rgb(${r} ${g} ${b})`;
}
