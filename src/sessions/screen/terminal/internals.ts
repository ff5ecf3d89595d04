// The one look behind the public interface of @xterm/headless: what a screen is made of and the interface does not
// show (parser state, scroll region, tab stops, saved cursor, character sets, links). It is checked when a terminal is
// made: another version of xterm.js that moved any of it fails at once and names what is missing.

import type { ControlId, ControlSequence } from "../../../protocol/parser-guard.ts";

/** Two words of a cell or of the pen: colours and flags as style.ts reads them. */
export type CoreAttributes = { readonly fg: number; readonly bg: number };

export type CoreExtended = {
  /** The underline style in it is the true one: the property of that name says "dashed" for every link. */
  readonly _ext: number;
  readonly underlineColor: number;
  readonly urlId: number;
};

export type CorePen = CoreAttributes & { readonly extended: CoreExtended };

export type CoreLine = {
  readonly length: number;
  /** The line goes on with what the one above began. */
  readonly isWrapped: boolean;
  /** 0 for the second half of a wide character. */
  getWidth(column: number): number;
  /** 0 for a cell that nothing was printed into. */
  hasContent(column: number): number;
  getString(column: number): string;
  getFg(column: number): number;
  getBg(column: number): number;
  readonly _extendedAttrs: Readonly<Record<number, CoreExtended | undefined>>;
};

/** The same object for the same set; undefined is US ASCII. */
export type CoreCharset = object | undefined;

export type CoreBuffer = {
  /** May be the number of columns: the next character wraps. */
  readonly x: number;
  readonly y: number;
  /** Lines of scrollback. */
  readonly ybase: number;
  readonly scrollTop: number;
  readonly scrollBottom: number;
  readonly tabs: Readonly<Record<number, boolean | undefined>>;
  readonly savedX: number;
  /** Counted from the first line of scrollback. */
  readonly savedY: number;
  readonly savedCurAttrData: CoreAttributes;
  readonly savedCharset: CoreCharset;
  readonly lines: {
    readonly length: number;
    readonly maxLength: number;
    get(index: number): CoreLine | undefined;
  };
};

export type CoreModes = {
  readonly applicationCursorKeys: boolean;
  readonly applicationKeypad: boolean;
  readonly bracketedPasteMode: boolean;
  readonly cursorBlink: boolean | undefined;
  readonly cursorStyle: "block" | "underline" | "bar" | undefined;
  readonly origin: boolean;
  readonly reverseWraparound: boolean;
  readonly sendFocus: boolean;
  readonly wraparound: boolean;
};

type WritableExtended = CoreExtended & { clone(): WritableExtended; urlId: number };

export type Internals = {
  readonly _inputHandler: {
    parse(bytes: Uint8Array): unknown;
    readonly _curAttrData: { readonly fg: number; readonly bg: number; extended: WritableExtended } & {
      updateExtended(): void;
    };
    readonly _parser: { readonly currentState: number; readonly precedingJoinState: number; reset(): void };
    registerCsiHandler(id: ControlId, seen: (sequence: ControlSequence) => boolean): unknown;
    registerEscHandler(id: { readonly final: string }, seen: () => boolean): unknown;
    registerOscHandler(id: number, seen: (data: string) => boolean): unknown;
  };
  readonly _charsetService: {
    readonly charset: CoreCharset;
    readonly glevel: number;
    readonly _charsets: readonly CoreCharset[];
  };
  readonly coreService: {
    isCursorHidden: boolean;
    readonly modes: { readonly insertMode: boolean };
    readonly decPrivateModes: CoreModes;
  };
  readonly coreMouseService: { readonly activeProtocol: string; readonly activeEncoding: string };
  readonly unicodeService: { charProperties(codePoint: number, before: number): number };
  readonly options: { convertEol: boolean; cursorBlink: boolean };
  readonly buffers: {
    readonly normal: CoreBuffer;
    readonly alt: CoreBuffer & { readonly lines: { maxLength: number } };
    readonly active: CoreBuffer;
  };
};

/** What `typeof` says, or the members of an object. */
type Shape = string | { readonly [member: string]: Shape };

const LINES: Shape = { length: "number", maxLength: "number", get: "function" };
const BUFFER: Shape = {
  ...{ x: "number", y: "number", ybase: "number", scrollTop: "number", scrollBottom: "number" },
  ...{ tabs: "object", savedX: "number", savedY: "number", lines: LINES },
  savedCurAttrData: { fg: "number", bg: "number" },
};
const LINE: Shape = {
  ...{ length: "number", isWrapped: "boolean", getWidth: "function", hasContent: "function" },
  ...{ getString: "function", getFg: "function", getBg: "function", _extendedAttrs: "object" },
};
const MODES: Shape = {
  ...{ applicationCursorKeys: "boolean", applicationKeypad: "boolean", bracketedPasteMode: "boolean" },
  ...{ origin: "boolean", reverseWraparound: "boolean", sendFocus: "boolean", wraparound: "boolean" },
};
const PEN: Shape = {
  ...{ fg: "number", bg: "number", updateExtended: "function" },
  extended: { _ext: "number", underlineColor: "number", urlId: "number", clone: "function" },
};
const INTERNALS: Shape = {
  _inputHandler: {
    ...{
      parse: "function",
      registerCsiHandler: "function",
      registerOscHandler: "function",
      _curAttrData: PEN,
    },
    _parser: { currentState: "number", precedingJoinState: "number", reset: "function" },
  },
  _charsetService: { glevel: "number", _charsets: "object" },
  coreService: { isCursorHidden: "boolean", modes: { insertMode: "boolean" }, decPrivateModes: MODES },
  coreMouseService: { activeProtocol: "string", activeEncoding: "string" },
  unicodeService: { charProperties: "function" },
  options: { convertEol: "boolean", cursorBlink: "boolean" },
  buffers: { normal: BUFFER, alt: BUFFER, active: BUFFER },
};

/** Throws an Error that names the first member which xterm.js has no more. */
export function internalsOf(terminal: object): Internals {
  const core: unknown = Reflect.get(terminal, "_core");
  if (!isInternals(core)) throw new Error(`xterm.js has changed: no ${missing(core, INTERNALS, "_core")}`);
  const lost = missing(core.buffers.normal.lines.get(0), LINE, "line");
  if (lost !== undefined) throw new Error(`xterm.js has changed: no ${lost}`);
  return core;
}

function isInternals(value: unknown): value is Internals {
  return missing(value, INTERNALS, "_core") === undefined;
}

/** The path of the first member that is not as `shape` says; undefined when all are. */
function missing(value: unknown, shape: Shape, path: string): string | undefined {
  if (typeof shape === "string") return typeof value === shape ? undefined : `${path} (${shape})`;
  if (typeof value !== "object" || value === null) return `${path} (object)`;
  for (const [member, expected] of Object.entries(shape)) {
    const lost = missing(Reflect.get(value, member), expected, `${path}.${member}`);
    if (lost !== undefined) return lost;
  }
  return undefined;
}
