// Brings one terminal forward through its session's output, a millisecond at a time. From far behind it begins at the
// last checkpoint, or where the program reset the terminal, and leaves out what can no longer be seen.
import type { TerminalSize } from "../../../protocol/schemas/session.ts";
import { ScreenTerminal } from "../terminal/terminal.ts";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { BLOCK_BYTES, ScreenFile } from "./file.ts";
import { isSameSize, type ScreenSource, sizeAt } from "./message.ts";
import { scanPlain } from "./plain-output.ts";
import { findReset, findShortcut } from "./shortcut.ts";

/** Parsed in one step. */
const PIECE_BYTES = 32 * 1024;
/** A shorter stretch of plain output is parsed, in about 20 ms. */
const MIN_SHORTCUT_BYTES = 512 * 1024;
/** Range of the search for a reset of the terminal. */
const MIN_RESET_SEARCH_BYTES = 2 * 1024 * 1024;
const MAX_RESET_SEARCH_BYTES = 64 * 1024 * 1024;
const TO_BOTTOM_LEFT = new TextEncoder().encode("\x1b[9999;1H");

/** A terminal, its requested size, and the offset of the parsed output. */
export type ParsedScreen = {
  readonly terminal: ScreenTerminal;
  readonly size: TerminalSize;
  readonly offset: number;
  /** Offset of the checkpoint on disk; 0 without one. */
  readonly checkpoint: number;
};

export class ScreenParse implements Disposable {
  readonly source: ScreenSource;
  readonly #file: ScreenFile;
  #screen: ParsedScreen;
  /** The output is plain from the screen's offset up to here. */
  #plainUpTo = 0;
  #hasColors = false;
  /** A reset of the terminal is searched before this offset; 0: the search is over. */
  #searchUpTo = 0;
  /** No shortcut is tried before this offset. */
  #parseUpTo = 0;

  /** Continues and owns `screen`. Throws when the output cannot be read. */
  constructor(source: ScreenSource, screen: ParsedScreen | undefined) {
    this.source = source;
    using stack = new DisposableStack();
    this.#file = stack.use(new ScreenFile(source.outputPath));
    this.#screen = screen === undefined ? restore(source, this.#file) : tidied(screen);
    stack.move();
    if (source.upTo - this.#screen.offset >= MIN_RESET_SEARCH_BYTES) this.#searchUpTo = source.upTo;
  }

  get screen(): ParsedScreen {
    return this.#screen;
  }

  /** Returns true at the end; before that the screen is incomplete. */
  step(): boolean {
    const { sizes, upTo } = this.source;
    const { terminal, offset } = this.#screen;
    if (offset > upTo) return true;
    if (this.#searchUpTo > offset) {
      this.#searchReset();
      return false;
    }
    this.#resize(sizeAt(sizes, offset));
    if (offset === upTo) return true;
    const end = sizes.find((size) => size.offset > offset && size.offset < upTo)?.offset ?? upTo;
    const isFar = offset >= this.#parseUpTo && end - offset >= MIN_SHORTCUT_BYTES;
    if (isFar && isSteady(terminal)) this.#lookAhead(end);
    else this.#parse(Math.min(end - offset, PIECE_BYTES));
    return false;
  }

  /** Writes the checkpoint to disk, if possible. */
  save(drawing: Uint8Array): void {
    const { offset, size } = this.#screen;
    try {
      writeCheckpoint(this.source.checkpointPath, { offset, size, bytes: drawing }, this.#file);
      this.#screen = { ...this.#screen, checkpoint: offset };
    } catch {
      // The disk is full, or the session was removed meanwhile.
    }
  }

  /** Keeps the terminal. */
  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }

  #parse(length: number): void {
    const { terminal, offset } = this.#screen;
    terminal.write(this.#file.read(offset, length));
    this.#screen = { ...this.#screen, offset: offset + length };
  }

  #resize(size: TerminalSize): void {
    const { terminal, size: current } = this.#screen;
    if (isSameSize(size, current)) return;
    terminal.resize(size);
    this.#screen = { ...this.#screen, size };
  }

  /** Scans one block; at the end of plain output skips as much of it as possible. */
  #lookAhead(end: number): void {
    const { offset } = this.#screen;
    if (this.#plainUpTo <= offset) [this.#plainUpTo, this.#hasColors] = [offset, false];
    const block = this.#file.read(this.#plainUpTo, Math.min(BLOCK_BYTES, end - this.#plainUpTo));
    const scan = scanPlain(block);
    this.#plainUpTo += scan.end;
    this.#hasColors ||= scan.hasColors;
    const isOver = this.#plainUpTo === end || scan.stop === "other" || scan.end === 0;
    if (!isOver) return;
    this.#parseUpTo = this.#plainUpTo + 2 * PIECE_BYTES;
    if (this.#plainUpTo - offset >= MIN_SHORTCUT_BYTES) this.#takeShortcut(this.#plainUpTo);
  }

  /** Skips to where all current lines have scrolled out. */
  #takeShortcut(plainUpTo: number): void {
    const { terminal, offset } = this.#screen;
    const shortcut = findShortcut(this.#file, {
      ...{ from: offset, to: plainUpTo, hasColors: this.#hasColors },
      lines: terminal.core.buffers.active.lines.maxLength,
      rows: terminal.size.rows,
    });
    if (shortcut === undefined) return;
    terminal.write(shortcut.colors);
    terminal.write(TO_BOTTOM_LEFT);
    this.#screen = { ...this.#screen, offset: shortcut.offset };
  }

  /** Scans one block, backwards from the end of the output. */
  #searchReset(): void {
    const { sizes, upTo } = this.source;
    const { terminal, offset, checkpoint } = this.#screen;
    const end = this.#searchUpTo;
    const start = Math.max(offset, end - BLOCK_BYTES);
    const reset = findReset(this.#file, start, end, upTo);
    this.#searchUpTo = reset === undefined && upTo - start < MAX_RESET_SEARCH_BYTES ? start : 0;
    if (reset === undefined) return;
    terminal[Symbol.dispose]();
    const size = sizeAt(sizes, reset);
    this.#screen = { terminal: new ScreenTerminal(size), size, offset: reset, checkpoint };
  }
}

/** Redraws a terminal that is full of invisible links. */
function tidied(screen: ParsedScreen): ParsedScreen {
  if (!screen.terminal.links.isFull) return screen;
  const terminal = new ScreenTerminal(screen.size);
  terminal.write(screen.terminal.drawing());
  screen.terminal[Symbol.dispose]();
  return { ...screen, terminal };
}

/** Whether plain text scrolls the whole screen: no scroll region, no reverse wraparound. */
function isSteady({ core, size }: ScreenTerminal): boolean {
  const { scrollTop, scrollBottom } = core.buffers.active;
  const isWhole = scrollTop === 0 && scrollBottom === size.rows - 1;
  return core.parser.currentState === 0 && isWhole && !core.service.decPrivateModes.reverseWraparound;
}

function restore({ checkpointPath, upTo, sizes }: ScreenSource, file: ScreenFile): ParsedScreen {
  const found = readCheckpoint(checkpointPath, file, upTo);
  if (found === undefined) {
    const size = sizeAt(sizes, 0);
    return { terminal: new ScreenTerminal(size), size, offset: 0, checkpoint: 0 };
  }
  const { offset, size } = found;
  const terminal = new ScreenTerminal(size);
  terminal.write(found.bytes);
  return { terminal, size, offset, checkpoint: offset };
}
