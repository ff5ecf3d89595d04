// The only importer of xterm.js: a terminal emulator with its addons, drawn into an element. It knows no session.
import { type ReadonlySignal, signal } from "@preact/signals";
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import { KeyboardModes } from "../../../protocol/keyboard-modes.ts";
import { DEFAULT_COLS, DEFAULT_ROWS, MAX_TERMINAL_SIZE } from "../../../protocol/limits.ts";
import {
  type ControlId,
  type ControlSequence,
  type GuardedParser,
  guardParser,
} from "../../../protocol/parser-guard.ts";
import type { TerminalSize } from "../../../protocol/schemas/session.ts";
import { WholeCharacters } from "../../../protocol/whole-characters.ts";
import type { Choices } from "../../preferences.ts";
import { safeInput } from "./bracketed-paste.ts";
import { LINE_HEIGHT } from "./cell-size.ts";
import { clipboardText } from "./clipboard-write.ts";
import { fontFamily, loadIcons } from "./fonts.ts";
import { TerminalImages } from "./images.ts";
import { encodeKey } from "./key-encoding.ts";
import { MIN_CONTRAST, type Palette, terminalTheme } from "./palette.ts";
import { QueryGate } from "./query-gate.ts";
import { isForEmulator } from "./terminal-keys.ts";
import { TextSearch } from "./text-search.ts";
import { TouchInput, type TouchOptions } from "./touch.ts";
import { openWebgl } from "./webgl.ts";

export type Appearance = Pick<
  Choices,
  "font" | "hasIconFont" | "fontSizePx" | "copyOnSelect" | "hasImages" | "screenReader"
> & { readonly palette: Palette };

type EmulatorHandlers = {
  /** Data to send to the program: keys, pastes, mouse reports and answers to its queries. */
  readonly onInput: (bytes: Uint8Array) => void;
  readonly onTitle: (title: string) => void;
  readonly onBell: () => void;
  /** A program writes text to the clipboard (OSC 52). */
  readonly onCopy: (text: string) => void;
  /** The icon font, or the code for images, failed to load. */
  readonly onLoadFailed: (error: unknown) => void;
  /** The link under the pointer, or undefined. */
  readonly onLink: (uri: string | undefined) => void;
  /** Called while a query of the program is being parsed. */
  readonly mayAnswer: () => boolean;
} & Pick<TouchOptions, "onSwipe" | "onPinch">;

/** Lines kept above the screen; the oldest are dropped. About 16 bytes a cell: 100 columns make 16 MB. */
const SCROLLBACK_LINES = 10_000;
const OSC_CLIPBOARD = 52;
/** CAN ends an unfinished sequence, RIS resets everything else. */
const RESET = Uint8Array.of(0x18, 0x1b, 0x63);

// biome-ignore lint/suspicious/noControlCharactersInRegex: cursor keys are control sequences
const CURSOR_KEYS = /\x1b\[([ABCDHF])/g;

const encoder = new TextEncoder();

export class Emulator implements Disposable {
  readonly search: TextSearch;
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  #gate: QueryGate;
  readonly #characters = new WholeCharacters();
  readonly #touch: TouchInput;
  readonly #hasSelection = signal(false);
  readonly hasSelection: ReadonlySignal<boolean> = this.#hasSelection;
  readonly #onLoadFailed: (error: unknown) => void;
  readonly #keyboard = new KeyboardModes();
  readonly #images: TerminalImages;
  #appearance: Appearance;
  #webgl: Disposable | undefined;

  constructor(appearance: Appearance, handlers: EmulatorHandlers) {
    this.#appearance = appearance;
    this.#onLoadFailed = handlers.onLoadFailed;
    const terminal = new Terminal(terminalOptions(appearance, handlers.onLink));
    this.#terminal = terminal;
    guardParser(emulatorCore(terminal), () => this.size);
    this.#gate = new QueryGate(terminal.parser, handlers.mayAnswer);
    this.#images = new TerminalImages({
      terminal,
      onFailed: handlers.onLoadFailed,
      onLoaded: () => {
        this.#gate[Symbol.dispose]();
        this.#gate = new QueryGate(terminal.parser, handlers.mayAnswer);
      },
    });
    this.#followKeyboard(handlers.mayAnswer);
    terminal.parser.registerOscHandler(OSC_CLIPBOARD, (data) => {
      const text = clipboardText(data);
      if (text !== undefined) handlers.onCopy(text);
      return true;
    });
    const search = new SearchAddon();
    this.search = new TextSearch(search, appearance.palette.kind);
    terminal.loadAddon(this.#fit);
    terminal.loadAddon(search);
    terminal.loadAddon(new UnicodeGraphemesAddon());
    terminal.loadAddon(webLinks(handlers.onLink));
    terminal.attachCustomKeyEventHandler((event) => isForEmulator(event, terminal) && !this.#encode(event));
    terminal.onData((data) => {
      if (this.#gate.passes(data)) handlers.onInput(encoder.encode(safeInput(data)));
    });
    // Old mouse reports use one byte per character, which UTF-8 would encode as two.
    terminal.onBinary((data) => handlers.onInput(Uint8Array.from(data, (byte) => byte.charCodeAt(0))));
    const onSelect = (): void => {
      this.#hasSelection.value = terminal.hasSelection();
    };
    terminal.onSelectionChange(onSelect);
    this.#touch = new TouchInput({ ...handlers, terminal, type: (text) => this.type(text), onSelect });
    terminal.onTitleChange(handlers.onTitle);
    terminal.onBell(handlers.onBell);
  }

  /** Draws into the element, once. */
  open(element: HTMLElement): void {
    this.#terminal.open(element);
    this.#touch.open(element);
    this.#webgl = openWebgl(this.#terminal);
    element.addEventListener("mousedown", () => {
      // Releasing the button anywhere ends the selection.
      const selected = (): void => this.#selected();
      element.ownerDocument.addEventListener("mouseup", selected, { once: true });
    });
  }

  /** Parses bytes in order, then calls `parsed`. At most the amount that output-queue.ts hands over. */
  write(bytes: Uint8Array, parsed: () => void): void {
    this.#terminal.write(this.#characters.take(bytes), parsed);
  }

  /** Takes effect at once for all unwritten output; size in cells. */
  resize(size: TerminalSize): void {
    if (size.cols !== this.#terminal.cols || size.rows !== this.#terminal.rows) {
      this.#terminal.resize(size.cols, size.rows);
    }
  }

  /** Bytes that empty the terminal in any state. */
  get resetBytes(): Uint8Array {
    return RESET;
  }

  get size(): TerminalSize {
    return { cols: this.#terminal.cols, rows: this.#terminal.rows };
  }

  /** The size that fills the element at the current font; undefined while the element has no layout. */
  get fittingSize(): TerminalSize | undefined {
    const proposed = this.#fit.proposeDimensions();
    if (proposed === undefined || Number.isNaN(proposed.cols) || Number.isNaN(proposed.rows))
      return undefined;
    return { cols: within(proposed.cols), rows: within(proposed.rows) };
  }

  setFontSize(px: number): void {
    if (this.#terminal.options.fontSize !== px) this.#terminal.options.fontSize = px;
  }

  /** All settings but the font size, which also depends on the session's size. */
  restyle(appearance: Appearance): void {
    const { options } = this.#terminal;
    this.#appearance = appearance;
    options.theme = terminalTheme(appearance.palette);
    options.screenReaderMode = appearance.screenReader;
    this.search.setScheme(appearance.palette.kind);
    void this.#images.switch(appearance.hasImages);
    options.fontFamily = fontFamily(appearance.font, appearance.hasIconFont);
    if (!appearance.hasIconFont) return;
    // A canvas does not redraw by itself when its font has loaded.
    loadIcons(document.fonts).then(() => this.#terminal.clearTextureAtlas(), this.#onLoadFailed);
  }

  /** Ignores keys from now on. */
  refuseInput(isRefused = true): void {
    this.#terminal.options.disableStdin = isRefused;
  }

  /** The program has ended: hides the cursor, and calls back when that is parsed. */
  finish(finished: () => void): void {
    this.refuseInput();
    // A smaller screen drops lines below the cursor, so the cursor moves below the text.
    this.#terminal.write(`\x1b[?25l\x1b[?6l\x1b[${this.#lastRow};1H`, finished);
  }

  /** The last row of the screen with text, at least the row of the cursor; from 1. */
  get #lastRow(): number {
    const buffer = this.#terminal.buffer.active;
    let row = this.#terminal.rows;
    while (row > buffer.cursorY + 1 && buffer.getLine(buffer.baseY + row - 1)?.translateToString(true) === "")
      row -= 1;
    return row;
  }

  /** Whether lines that leave the screen enter the scrollback: not those of a full-screen program. */
  get hasScrollback(): boolean {
    return this.#terminal.buffer.active.type === "normal";
  }

  /** Sends input like typed keys; cursor keys use the program's mode. */
  type(text: string): void {
    const isApplication = this.#terminal.modes.applicationCursorKeysMode;
    this.#terminal.input(isApplication ? text.replaceAll(CURSOR_KEYS, "\x1bO$1") : text);
  }

  paste(text: string): void {
    this.#terminal.paste(text);
  }

  focus(): void {
    this.#terminal.focus();
  }

  get selection(): string {
    return this.#terminal.getSelection();
  }

  #followKeyboard(mayAnswer: () => boolean): void {
    const { parser } = this.#terminal;
    this.#keyboard.follow((id, seen) => {
      parser.registerCsiHandler(id, ([first, second]) => {
        seen(Number(first ?? 0), Number(second ?? 0));
        return true;
      });
    });
    parser.registerCsiHandler({ prefix: "?", final: "u" }, () => {
      if (mayAnswer()) this.#terminal.input(`\x1b[?${this.#keyboard.flags}u`, false);
      return true;
    });
    parser.registerEscHandler({ final: "c" }, () => {
      this.#keyboard.reset();
      return false;
    });
  }

  /** Whether the key was sent in an encoding that xterm.js does not support. */
  #encode(event: KeyboardEvent): boolean {
    const { isDisambiguating, otherKeys } = this.#keyboard;
    const reportsFocus = this.#terminal.modes.sendFocusMode;
    const sequence = encodeKey(event, { isDisambiguating, otherKeys, reportsFocus });
    if (sequence === undefined) return false;
    event.preventDefault();
    if (event.type === "keydown") this.#terminal.input(sequence);
    return true;
  }

  #selected(): void {
    // Works without HTTPS, unlike navigator.clipboard.
    if (this.#appearance.copyOnSelect && this.#terminal.hasSelection()) document.execCommand("copy");
  }

  clearSelection(): void {
    this.#terminal.clearSelection();
  }

  /** All lines with scrollback, wrapped ones joined, for diagnosis and tests. */
  get text(): string {
    return this.#textOf(0, this.#terminal.buffer.active.length);
  }

  /** The visible lines. */
  get shownText(): string {
    const { viewportY } = this.#terminal.buffer.active;
    return this.#textOf(viewportY, viewportY + this.#terminal.rows);
  }

  #textOf(from: number, to: number): string {
    const buffer = this.#terminal.buffer.active;
    let text = "";
    for (let row = from; row < to; row += 1) {
      const line = buffer.getLine(row);
      text += `${row === from || line?.isWrapped ? "" : "\n"}${line?.translateToString(!buffer.getLine(row + 1)?.isWrapped)}`;
    }
    return text;
  }

  [Symbol.dispose](): void {
    this.search[Symbol.dispose]();
    this.#touch[Symbol.dispose]();
    this.#gate[Symbol.dispose]();
    this.#images[Symbol.dispose]();
    this.#stopBlinking();
    // Disposed before the terminal: it holds one of the few GPU contexts of a page.
    this.#webgl?.[Symbol.dispose]();
    this.#terminal.dispose();
  }

  // NOTE: the WebGL renderer of addon-webgl 0.19 does not stop its timer for a blinking cursor when it is disposed, and
  // the timer keeps the whole terminal alive. Changing the option stops it, unless the program has set the cursor's
  // style.
  #stopBlinking(): void {
    this.#terminal.reset();
    this.#terminal.options.cursorBlink = true;
    this.#terminal.options.cursorBlink = false;
  }
}

function terminalOptions(appearance: Appearance, onLink: EmulatorHandlers["onLink"]) {
  return {
    // Needed by the unicode and search addons, which use interfaces that may still change.
    allowProposedApi: true,
    cols: DEFAULT_COLS,
    rows: DEFAULT_ROWS,
    scrollback: SCROLLBACK_LINES,
    fontFamily: fontFamily(appearance.font, appearance.hasIconFont),
    fontSize: appearance.fontSizePx,
    lineHeight: LINE_HEIGHT,
    theme: terminalTheme(appearance.palette),
    minimumContrastRatio: MIN_CONTRAST,
    cursorBlink: true,
    cursorInactiveStyle: "outline",
    macOptionIsMeta: true,
    rightClickSelectsWord: false,
    rescaleOverlappingGlyphs: true,
    screenReaderMode: appearance.screenReader,
    // The text of a program's link (OSC 8) may differ from its target, so the target is shown while hovering.
    linkHandler: {
      activate: (_event: MouseEvent, uri: string) => openLink(uri),
      hover: (_event: MouseEvent, uri: string) => onLink(uri),
      leave: () => onLink(undefined),
    },
  } as const;
}

function webLinks(onLink: EmulatorHandlers["onLink"]): WebLinksAddon {
  return new WebLinksAddon((_event, uri) => openLink(uri), {
    hover: (_event, uri) => onLink(uri),
    leave: () => onLink(undefined),
  });
}

function openLink(uri: string): void {
  if (/^https?:\/\//i.test(uri)) window.open(uri, "_blank", "noopener,noreferrer");
}

function within(cells: number): number {
  return Math.min(MAX_TERMINAL_SIZE, Math.max(1, cells));
}

type Core = {
  readonly buffers: { readonly active: GuardedParser["active"] };
  readonly unicodeService: GuardedParser["unicode"];
  registerCsiHandler(id: ControlId, seen: (sequence: ControlSequence) => boolean): unknown;
};

/**
 * The terminal's parser, behind the public interface of @xterm/xterm: public handlers get a copy of a sequence's
 * parameters, and the guard must change them. Throws an Error if xterm.js has another structure.
 */
function emulatorCore(terminal: object): GuardedParser {
  const core: unknown = Reflect.get(terminal, "_core");
  if (!isCore(core)) throw new Error("xterm.js has changed: its parser is not to be found");
  return {
    unicode: core.unicodeService,
    get active() {
      return core.buffers.active;
    },
    beforeCsi: (id, seen) => {
      core.registerCsiHandler(id, (sequence) => {
        seen(sequence);
        return false;
      });
    },
  };
}

function isCore(core: unknown): core is Core {
  if (typeof core !== "object" || core === null) return false;
  const handler: unknown = Reflect.get(core, "registerCsiHandler");
  const buffers: unknown = Reflect.get(core, "buffers");
  const active: unknown = typeof buffers === "object" && buffers !== null && Reflect.get(buffers, "active");
  const table: unknown = Reflect.get(core, "unicodeService");
  const isTable = typeof table === "object" && table !== null && "charProperties" in table;
  return typeof handler === "function" && isBuffer(active) && isTable;
}

function isBuffer(value: unknown): value is GuardedParser["active"] {
  if (typeof value !== "object" || value === null) return false;
  const isPlace = ["x", "y", "ybase"].every((name) => typeof Reflect.get(value, name) === "number");
  return isPlace && typeof Reflect.get(value, "lines") === "object";
}
