import { MAX_TERMINAL_SIZE } from "../../protocol/limits.ts";
import type { TerminalSize } from "../../protocol/session.ts";

export const TERMINAL_FONT =
  'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
export const LINE_HEIGHT = 1.15;
/** The pane's padding and scrollbar, in pixels. */
const FRAME_PX = { width: 14 + 16, height: 48 + 12 };

/**
 * About the size that a terminal in the place of `pane` will have, so that a program starts with it and does not draw
 * twice; the terminal itself measures exactly.
 */
export function estimateSize(pane: Element, fontSizePx: number): TerminalSize {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return { cols: 80, rows: 24 };
  context.font = `${fontSizePx}px ${TERMINAL_FONT}`;
  const letter = context.measureText("W");
  const height = Math.ceil(letter.fontBoundingBoxAscent + letter.fontBoundingBoxDescent) * LINE_HEIGHT;
  const { width: paneWidth, height: paneHeight } = pane.getBoundingClientRect();
  return {
    cols: cells((paneWidth - FRAME_PX.width) / letter.width),
    rows: cells((paneHeight - FRAME_PX.height) / Math.floor(height)),
  };
}

function cells(count: number): number {
  return Math.min(MAX_TERMINAL_SIZE, Math.max(2, Math.floor(count)));
}
