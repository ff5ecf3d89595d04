// Brings one terminal forward through its session's output, a millisecond at a time. From far behind it begins at the
// last checkpoint, or where the program reset the terminal, and leaves out what can no longer be seen.
import type { TerminalSize } from "../../../protocol/schemas/session.ts";
import { ScreenTerminal } from "../terminal/terminal.ts";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { BLOCK_BYTES, ScreenFile } from "./file.ts";
import { isSameSize, type ScreenSource, sizeAt } from "./message.ts";
import { scanPlain } from "./plain-output.ts";
import { findReset, findShortcut } from "./shortcut.ts";

/** Parsed at once. */
const PIECE_BYTES = 32 * 1024;
/** A shorter stretch of plain output is parsed, in about 20 ms. */
const MIN_SHORTCUT_BYTES = 512 * 1024;
/** Over a shorter way nobody looks for a reset of the terminal, and over a longer one nobody looks further back. */
const MIN_RESET_SEARCH_BYTES = 2 * 1024 * 1024;
const MAX_RESET_SEARCH_BYTES = 64 * 1024 * 1024;
const TO_BOTTOM_LEFT = new TextEncoder().encode("\x1b[9999;1H");

/** A terminal, the size that was asked for, and how much of the output it has had. */
export type ParsedScreen = {
  readonly terminal: ScreenTerminal;
  readonly size: TerminalSize;
  readonly offset: number;
  /** The offset of what is on disk; 0 when there is nothing. */
  readonly checkpoint: number;
};

export class ScreenParse implements Disposable {
  readonly source: ScreenSource;
  readonly #file: ScreenFile;
  #screen: ParsedScreen;
  /** Plain from the screen's offset up to here, as far as is known. */
  #plainUpTo = 0;
  #hasColors = false;
  /** Where a reset of the terminal is looked for before anything is parsed: before this offset; 0 when it is over. */
  #searchUpTo = 0;
  /** Parsed up to here without looking for a shortcut. */
  #parseUpTo = 0;

  /** Goes on with `screen`, which it then owns. Throws when the output cannot be read. */
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

  /** True at the end of what is to be shown. Before that the screen is not to be looked at. */
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

  /** Writes the drawing of the screen to disk. That it cannot be written is no failure: it is made again then. */
  save(drawing: Uint8Array): void {
    const { offset, size } = this.#screen;
    try {
      writeCheckpoint(this.source.checkpointPath, { offset, size, bytes: drawing }, this.#file);
      this.#screen = { ...this.#screen, checkpoint: offset };
    } catch {
      // The disk is full, or the session was removed meanwhile.
    }
  }

  /** The terminal stays. */
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

  /** One block further; where plain output ends it is left out as far as possible, and what follows is parsed. */
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

  /** What is left over of the terminal's lines scrolls out on the way to `plainUpTo`: that is parsed without a halt. */
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

  /** One block, from the end of the output backwards. */
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

/** The same screen in a new terminal, where the old one is full of links that are not to be seen any more. */
function tidied(screen: ParsedScreen): ParsedScreen {
  if (!screen.terminal.links.isFull) return screen;
  const terminal = new ScreenTerminal(screen.size);
  terminal.write(screen.terminal.drawing());
  screen.terminal[Symbol.dispose]();
  return { ...screen, terminal };
}

/** Whether lines go by from the bottom to the top, whatever the text: no scroll region, no way up but by sequences. */
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
