// The only importer of @xterm/headless.
import graphemes from "@xterm/addon-unicode-graphemes";
import headless from "@xterm/headless";
import { concatBytes } from "../../../lib/data/collect.ts";
import { KeyboardModes } from "../../../protocol/keyboard-modes.ts";
import { SCREEN_SCROLLBACK_LINES } from "../../../protocol/limits.ts";
import { type GuardedParser, guardParser } from "../../../protocol/parser-guard.ts";
import type { TerminalSize } from "../../../protocol/schemas/session.ts";
import { WholeCharacters } from "../../../protocol/whole-characters.ts";
import { ScreenCharsets } from "./charset.ts";
import { type ScreenCore, screenCore } from "./core.ts";
import { ScreenLinks } from "./links.ts";
import { drawScreen } from "./resync.ts";
import { ScreenTail } from "./tail.ts";

const OSC_LINK = 8;

/** A headless terminal; about 12 bytes a cell. Widths and graphemes equal those of the page (Unicode 15). */
export class ScreenTerminal implements Disposable {
  readonly core: ScreenCore;
  readonly #terminal: InstanceType<typeof headless.Terminal>;
  readonly links = new ScreenLinks();
  readonly charsets: ScreenCharsets;
  readonly keyboard = new KeyboardModes();
  readonly #tail = new ScreenTail();
  readonly #characters = new WholeCharacters();

  constructor({ cols, rows }: TerminalSize, scrollback: number = SCREEN_SCROLLBACK_LINES) {
    this.#terminal = new headless.Terminal({
      // Needed by the table of widths, which registers with an interface that may still change.
      ...{ allowProposedApi: true, cols, rows },
      scrollback,
      // It would write about bad sequences to the console.
      logLevel: "off",
    });
    this.#terminal.loadAddon(new graphemes.UnicodeGraphemesAddon());
    this.core = screenCore(this.#terminal);
    this.charsets = new ScreenCharsets(this.core);
    guardParser(guarded(this.core), () => this.size);
    this.keyboard.follow((id, seen) => {
      this.core.input.registerCsiHandler(id, ({ params: [first = 0, second = 0], length }) => {
        seen(first, length > 1 ? second : 0);
        return true;
      });
    });
    this.core.input.registerEscHandler({ final: "c" }, () => {
      this.#resetKeptModes();
      return false;
    });
    this.core.input.registerOscHandler(OSC_LINK, (link) => {
      const id = this.links.idOf(link);
      if (id !== undefined) this.#setLink(id);
      return true;
    });
  }

  /** In cells; never under 2 columns. */
  get size(): TerminalSize {
    return { cols: this.#terminal.cols, rows: this.#terminal.rows };
  }

  /** The most that it may hold. */
  get cells(): number {
    const { cols, rows } = this.size;
    return cols * (this.core.buffers.normal.lines.maxLength + rows);
  }

  /** Parses at once. A sequence on which xterm.js fails costs the rest of these bytes. */
  write(bytes: Uint8Array): void {
    const whole = this.#characters.take(bytes);
    try {
      this.core.input.parse(whole);
    } catch {
      this.core.parser.reset();
    }
    this.#tail.note(whole, this.core.parser.currentState);
  }

  resize(size: TerminalSize): void {
    this.#terminal.resize(size.cols, size.rows);
    const { alt, active } = this.core.buffers;
    // A hidden buffer that was made smaller would keep the room for its lines as scrollback.
    if (alt !== active) alt.lines.maxLength = this.size.rows;
  }

  /** Bytes that make a terminal of this size, which was just reset, the same as this one. */
  drawing(): Uint8Array<ArrayBuffer> {
    return this.#drawing({ hasHidden: true });
  }

  /** The same from a `drawing`, without scrollback and without the lines behind an alternate screen. */
  screenDrawing(drawing: Uint8Array): Uint8Array<ArrayBuffer> {
    using copy = new ScreenTerminal(this.size, 0);
    copy.write(drawing);
    return copy.#drawing({ hasHidden: false });
  }

  #drawing({ hasHidden }: { readonly hasHidden: boolean }): Uint8Array<ArrayBuffer> {
    const { core, links, charsets, size } = this;
    const keyboard = this.keyboard.sequences;
    const parts = { core, links, charsets, keyboard, hasHidden, ...size };
    const screen = new TextEncoder().encode(drawScreen(parts));
    return concatBytes([screen, this.#tail.bytes(core.parser.currentState), this.#characters.held]);
  }

  [Symbol.dispose](): void {
    this.#terminal.dispose();
  }

  /** xterm.js keeps these at a reset, but a screen that is parsed from the reset on does not have them. */
  #resetKeptModes(): void {
    const { service, options } = this.core;
    service.isCursorHidden = false;
    this.keyboard.reset();
    [options.convertEol, options.cursorBlink] = [false, false];
  }

  /** 0 ends a link. */
  #setLink(id: number): void {
    const { _curAttrData: pen } = this.core.input;
    pen.extended = pen.extended.clone();
    pen.extended.urlId = id;
    pen.updateExtended();
  }
}

function guarded({ input, buffers, unicode }: ScreenCore): GuardedParser {
  return {
    unicode,
    get active() {
      return buffers.active;
    },
    beforeCsi: (id, seen) => {
      input.registerCsiHandler(id, (sequence) => {
        seen(sequence);
        return false;
      });
    },
  };
}
