import type { ControlId, ControlSequence } from "../../../protocol/parser-guard.ts";
import {
  type CoreBuffer,
  type CoreCharset,
  type CoreModes,
  type CorePen,
  type Internals,
  internalsOf,
} from "./internals.ts";

/** A terminal's state, and ways to step in where xterm.js parses, without the names that xterm.js has for them. */
export class ScreenCore {
  readonly #core: Internals;

  /** Throws an Error when xterm.js is not what it was. */
  constructor(terminal: object) {
    this.#core = internalsOf(terminal);
  }

  /** At once, unlike `write`; throws what xterm.js throws. */
  parse(bytes: Uint8Array): void {
    this.#core._inputHandler.parse(bytes);
  }

  resetParser(): void {
    this.#core._inputHandler._parser.reset();
  }

  /** 0 between sequences; otherwise the state of the VT500 parser. */
  get parserState(): number {
    return this.#core._inputHandler._parser.currentState;
  }

  /** What the last character printed leaves for one that may join it; 0 after a control. */
  get joinState(): number {
    return this.#core._inputHandler._parser.precedingJoinState;
  }

  get pen(): CorePen {
    return this.#core._inputHandler._curAttrData;
  }

  /** 0 ends a link. */
  setLink(id: number): void {
    const pen = this.#core._inputHandler._curAttrData;
    pen.extended = pen.extended.clone();
    pen.extended.urlId = id;
    pen.updateExtended();
  }

  /** The set in use. */
  get charset(): CoreCharset {
    return this.#core._charsetService.charset;
  }

  /** Which of G0 to G3 was shifted to last. */
  get charsetLevel(): number {
    return this.#core._charsetService.glevel;
  }

  /** What G0 to G3 stand for. */
  charsetOf(level: number): CoreCharset {
    return this.#core._charsetService._charsets[level];
  }

  get modes(): CoreModes {
    return this.#core.coreService.decPrivateModes;
  }

  get isInserting(): boolean {
    return this.#core.coreService.modes.insertMode;
  }

  get isCursorHidden(): boolean {
    return this.#core.coreService.isCursorHidden;
  }

  /** A line feed returns the carriage too. */
  get isNewLineMode(): boolean {
    return this.#core.options.convertEol;
  }

  get isCursorBlinking(): boolean {
    return this.#core.options.cursorBlink;
  }

  get mouse(): { readonly protocol: string; readonly encoding: string } {
    const { activeProtocol: protocol, activeEncoding: encoding } = this.#core.coreMouseService;
    return { protocol, encoding };
  }

  /** The join state after this character; bit 0: it joins the one before; bits 1 and 2: the width of both together. */
  joinStateAfter(codePoint: number, before: number): number {
    return this.#core.unicodeService.charProperties(codePoint, before);
  }

  get normal(): CoreBuffer {
    return this.#core.buffers.normal;
  }

  get alt(): CoreBuffer {
    return this.#core.buffers.alt;
  }

  /** A buffer that is not shown keeps the room for lines that it had before it was made smaller: as scrollback. */
  limitAlternate(rows: number): void {
    const { alt, active } = this.#core.buffers;
    if (alt !== active) alt.lines.maxLength = rows;
  }

  get active(): CoreBuffer {
    return this.#core.buffers.active;
  }

  /** Called before xterm.js acts on such a sequence. */
  beforeCsi(id: ControlId, seen: (sequence: ControlSequence) => void): void {
    this.#core._inputHandler.registerCsiHandler(id, (sequence) => {
      seen(sequence);
      return false;
    });
  }

  /** Called before xterm.js acts on ESC and this character. */
  beforeEsc(final: string, seen: () => void): void {
    this.#core._inputHandler.registerEscHandler({ final }, () => {
      seen();
      return false;
    });
  }

  /** What xterm.js keeps when it is reset, as other terminals do not. */
  resetKeptModes(): void {
    this.#core.coreService.isCursorHidden = false;
    this.#core.options.convertEol = false;
    this.#core.options.cursorBlink = false;
  }

  /** Called in place of what xterm.js would do. */
  insteadOfOsc(id: number, seen: (data: string) => void): void {
    this.#core._inputHandler.registerOscHandler(id, (data) => {
      seen(data);
      return true;
    });
  }
}
