// Parses a session's output into its terminal, a millisecond at a time. From far behind it begins at the last checkpoint or
// reset of the terminal, and skips plain output that has scrolled out.
import type { TerminalSize } from "../../../protocol/schemas/session.ts";
import { ScreenTerminal } from "../terminal/terminal.ts";
import { BLOCK_BYTES, ScreenFile } from "./file.ts";
import { isSameSize, type ScreenSource, sizeAt } from "./message.ts";
import { findShortcut, scanPlain } from "./plain-output.ts";

/** Read at once. */
const PIECE_BYTES = 32 * 1024;
/** Bytes of one step times cells of the screen: a sequence of a few bytes changes all of them, some in 60 ns a cell. */
const STEP_BYTE_CELLS = 16 * 1024 * 1024;
const MIN_STEP_BYTES = 32;
/** A shorter stretch of plain output is parsed, in about 20 ms. */
const MIN_SHORTCUT_BYTES = 512 * 1024;
/** Range of the search for a reset of the terminal. */
const MIN_RESET_SEARCH_BYTES = 2 * 1024 * 1024;
const MAX_RESET_SEARCH_BYTES = 64 * 1024 * 1024;
/** ESC c */
const RESET = Buffer.of(0x1b, 0x63);
const TO_BOTTOM_LEFT = new TextEncoder().encode("\x1b[9999;1H");

export type ParsedScreen = {
  terminal: ScreenTerminal;
  size: TerminalSize;
  offset: number;
  /** Offset of the checkpoint on disk; 0 without one. */
  checkpoint: number;
};

/** Changes `screen` to that at the end of the source; incomplete before. Throws when the output cannot be read. */
export function* parseOutput(screen: ParsedScreen, source: ScreenSource): Generator<void> {
  const { sizes, upTo } = source;
  if (screen.offset > upTo) return;
  using file = new ScreenFile(source.output);
  const reset = yield* findLastReset(file, screen.offset, upTo);
  if (reset !== undefined) {
    const size = sizeAt(sizes, reset);
    replaceTerminal(screen, size);
    Object.assign(screen, { size, offset: reset });
  } else if (screen.terminal.links.isFull) redraw(screen);
  /** No shortcut is tried before this offset. */
  let parseUpTo = 0;
  for (;;) {
    const { offset, terminal } = screen;
    const size = sizeAt(sizes, offset);
    if (!isSameSize(size, screen.size)) terminal.resize(size);
    screen.size = size;
    if (offset === upTo) return;
    const end = sizes.find((size) => size.offset > offset && size.offset < upTo)?.offset ?? upTo;
    if (offset >= parseUpTo && end - offset >= MIN_SHORTCUT_BYTES && isSteady(terminal)) {
      const plain = yield* scanWhilePlain(file, offset, end);
      parseUpTo = plain.upTo + 2 * PIECE_BYTES;
      if (plain.upTo - offset >= MIN_SHORTCUT_BYTES) takeShortcut(screen, file, plain);
      yield;
    } else yield* parsePiece(screen, file.read(offset, Math.min(end - offset, PIECE_BYTES)));
  }
}

function* parsePiece(screen: ParsedScreen, bytes: Uint8Array): Generator<void> {
  const { terminal, size } = screen;
  const stepBytes = Math.max(MIN_STEP_BYTES, Math.floor(STEP_BYTE_CELLS / (size.cols * size.rows)));
  for (let at = 0; at < bytes.length; at += stepBytes) {
    const step = bytes.subarray(at, at + stepBytes);
    terminal.write(step);
    screen.offset += step.length;
    yield;
  }
}

/** The offset of the last ESC c. Scans block by block, backwards from the end of the output. */
function* findLastReset(file: ScreenFile, from: number, upTo: number): Generator<void, number | undefined> {
  if (upTo - from < MIN_RESET_SEARCH_BYTES) return undefined;
  for (let end = upTo; end > from && upTo - end < MAX_RESET_SEARCH_BYTES; ) {
    const start = Math.max(from, end - BLOCK_BYTES);
    const bytes = file.read(start, Math.min(end + 1, upTo) - start);
    // `includes` is fast, and mostly false.
    if (bytes.includes(RESET)) return start + bytes.lastIndexOf(RESET);
    end = start;
    yield;
  }
  return undefined;
}

type Plain = { readonly upTo: number; readonly hasColors: boolean };

/** Scans block by block to the end of plain output. */
function* scanWhilePlain(file: ScreenFile, from: number, to: number): Generator<void, Plain> {
  let [upTo, hasColors] = [from, false];
  while (upTo < to) {
    const scan = scanPlain(file.read(upTo, Math.min(BLOCK_BYTES, to - upTo)));
    upTo += scan.end;
    hasColors ||= scan.hasColors;
    if (scan.stop === "other" || scan.end === 0) break;
    yield;
  }
  return { upTo, hasColors };
}

/** Skips plain output to where all current lines have scrolled out. */
function takeShortcut(screen: ParsedScreen, file: ScreenFile, { upTo, hasColors }: Plain): void {
  const { terminal, offset } = screen;
  const shortcut = findShortcut(file, {
    ...{ from: offset, to: upTo, hasColors },
    lines: terminal.core.buffers.active.lines.maxLength,
    rows: terminal.size.rows,
  });
  if (shortcut === undefined) return;
  terminal.write(shortcut.colors);
  terminal.write(TO_BOTTOM_LEFT);
  screen.offset = shortcut.offset;
}

/** Drops links that are no longer visible. */
function redraw(screen: ParsedScreen): void {
  const drawing = screen.terminal.drawing();
  replaceTerminal(screen, screen.size);
  screen.terminal.write(drawing);
}

function replaceTerminal(screen: ParsedScreen, size: TerminalSize): void {
  screen.terminal[Symbol.dispose]();
  screen.terminal = new ScreenTerminal(size);
}

/** Whether plain text scrolls the whole screen: no scroll region, no reverse wraparound. */
function isSteady({ core, size }: ScreenTerminal): boolean {
  const { scrollTop, scrollBottom } = core.buffers.active;
  const isWhole = scrollTop === 0 && scrollBottom === size.rows - 1;
  return core.parser.currentState === 0 && isWhole && !core.service.decPrivateModes.reverseWraparound;
}
