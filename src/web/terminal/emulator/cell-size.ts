import { DEFAULT_COLS, DEFAULT_ROWS, MAX_TERMINAL_SIZE } from "../../../protocol/limits.ts";
import type { TerminalSize } from "../../../protocol/schemas/session.ts";
import type { Choices } from "../../preferences.ts";
import { fontFamily } from "./fonts.ts";

export const LINE_HEIGHT = 1.15;
/**
 * The part of a session's place that is not terminal: padding and scrollbar; the head; the bar of keys, in one or two
 * rows.
 */
const FRAME_PX = { width: 28, height: 64, keys: 94, keysInLandscape: 47 };

/**
 * The approximate size of a terminal in `pane`, so that a program starts with it and does not redraw; the terminal
 * itself measures exactly.
 */
export function estimateSize(
  pane: Element,
  { font, fontSizePx }: Pick<Choices, "font" | "fontSizePx">,
): TerminalSize {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return { cols: DEFAULT_COLS, rows: DEFAULT_ROWS };
  context.font = `${fontSizePx}px ${fontFamily(font, false)}`;
  const letter = context.measureText("W");
  // Cells are whole pixels of the screen.
  const scale = window.devicePixelRatio;
  const letterHeight = Math.ceil((letter.fontBoundingBoxAscent + letter.fontBoundingBoxDescent) * scale);
  const isLow = window.matchMedia("(max-height: 480px)").matches;
  const keyBar = isLow ? FRAME_PX.keysInLandscape : FRAME_PX.keys;
  const keys = window.matchMedia("(pointer: coarse)").matches ? keyBar : 0;
  const { width, height } = pane.getBoundingClientRect();
  return {
    cols: cells(((width - FRAME_PX.width) * scale) / Math.floor(letter.width * scale)),
    rows: cells(((height - FRAME_PX.height - keys) * scale) / Math.floor(letterHeight * LINE_HEIGHT)),
  };
}

function cells(count: number): number {
  return Math.min(MAX_TERMINAL_SIZE, Math.max(2, Math.floor(count)));
}
