// The internal state of @xterm/headless that its public interface does not show. Creating a terminal validates it: a
// version of xterm.js without a part of it fails at once.
import { z } from "zod";
import type { CharacterTable, ControlId, ControlSequence } from "../../../protocol/parser-guard.ts";

const func = <F extends (...args: never[]) => unknown>(): z.ZodCustom<F, F> =>
  z.custom<F>((value) => typeof value === "function", "no function");

/** The same object for the same set; undefined is US ASCII. */
const Charset = z.custom<object>(isObject).optional();
export type CoreCharset = z.infer<typeof Charset>;

/** Two words of a cell or of the pen: colours and flags as style.ts reads them. */
const Attributes = z.object({ fg: z.number(), bg: z.number() });
export type CoreAttributes = Readonly<z.infer<typeof Attributes>>;

/** `_ext` holds the true underline style: the property of that name says "dashed" for every link. */
const Extended = z.object({ _ext: z.number(), underlineColor: z.number(), urlId: z.number() });
export type CoreExtended = Readonly<z.infer<typeof Extended>>;

/** `isWrapped`: it continues the line above. Width 0: the second half of a wide character. */
const Line = z.object({
  ...{ length: z.number(), isWrapped: z.boolean() },
  getWidth: func<(column: number) => number>(),
  /** 0 for a cell that nothing was printed into. */
  hasContent: func<(column: number) => number>(),
  getString: func<(column: number) => string>(),
  getFg: func<(column: number) => number>(),
  getBg: func<(column: number) => number>(),
  _extendedAttrs: z.custom<Readonly<Record<number, CoreExtended | undefined>>>(isObject),
});
export type CoreLine = Readonly<z.infer<typeof Line>>;

/** `x` may be the number of columns: the next character wraps. `ybase`: lines of scrollback. */
const Buffer = z.object({
  ...{ x: z.number(), y: z.number(), ybase: z.number(), scrollTop: z.number(), scrollBottom: z.number() },
  tabs: z.custom<Readonly<Record<number, boolean | undefined>>>(isObject),
  /** `savedY` is counted from the first line of scrollback. */
  ...{ savedX: z.number(), savedY: z.number(), savedCurAttrData: Attributes },
  savedCharset: Charset,
  lines: z.object({
    ...{ length: z.number(), maxLength: z.number() },
    get: func<(index: number) => CoreLine | undefined>(),
  }),
});
export type CoreBuffer = Readonly<z.infer<typeof Buffer>>;

type WritableExtended = z.infer<typeof Extended> & { clone(): WritableExtended };

const Pen = Attributes.extend({
  extended: z.custom<WritableExtended>(
    (value) => Extended.extend({ clone: func() }).safeParse(value).success,
  ),
  updateExtended: func<() => void>(),
});
export type CorePen = CoreAttributes & { readonly extended: CoreExtended };

const Modes = z.object({
  ...{ applicationCursorKeys: z.boolean(), applicationKeypad: z.boolean(), bracketedPasteMode: z.boolean() },
  cursorBlink: z.boolean().optional(),
  cursorStyle: z.enum(["block", "underline", "bar"]).optional(),
  ...{ origin: z.boolean(), reverseWraparound: z.boolean(), sendFocus: z.boolean(), wraparound: z.boolean() },
});

const Internals = z.object({
  _inputHandler: z.object({
    parse: func<(bytes: Uint8Array) => unknown>(),
    registerCsiHandler: func<(id: ControlId, seen: (sequence: ControlSequence) => boolean) => unknown>(),
    registerEscHandler: func<(id: { readonly final: string }, seen: () => boolean) => unknown>(),
    registerOscHandler: func<(id: number, seen: (data: string) => boolean) => unknown>(),
    _curAttrData: Pen,
    /** `currentState`: 0 between sequences. `precedingJoinState`: 0 after a control. */
    _parser: z.object({
      ...{ currentState: z.number(), precedingJoinState: z.number(), reset: func<() => void>() },
    }),
  }),
  /** `charset` is in use; `glevel`: which of G0 to G3 was shifted to last. */
  _charsetService: z.object({
    ...{ charset: Charset, glevel: z.number() },
    _charsets: z.custom<readonly CoreCharset[]>(isObject),
  }),
  coreService: z.object({
    ...{ isCursorHidden: z.boolean(), modes: z.object({ insertMode: z.boolean() }), decPrivateModes: Modes },
  }),
  coreMouseService: z.object({ activeProtocol: z.string(), activeEncoding: z.string() }),
  /** Bits 1 and 2 of a join state: the width of the character and of those that it joined. */
  unicodeService: z.object({ charProperties: func<CharacterTable["charProperties"]>() }),
  /** `convertEol`: a line feed returns the carriage too. */
  options: z.object({ convertEol: z.boolean(), cursorBlink: z.boolean() }),
  buffers: z.object({ normal: Buffer, alt: Buffer, active: Buffer }),
});
type Internals = z.infer<typeof Internals>;

/** The live parts of one terminal. */
export type ScreenCore = Readonly<ReturnType<typeof partsOf>>;

/** Throws an Error that names the missing members where xterm.js has changed. */
export function screenCore(terminal: object): ScreenCore {
  const core: unknown = Reflect.get(terminal, "_core");
  refuseOther(Internals, core);
  refuseOther(Line, core.buffers.normal.lines.get(0));
  return partsOf(core);
}

function partsOf(core: Internals) {
  const { _inputHandler: input, _charsetService: charsets, coreService: service } = core;
  const { coreMouseService: mouse, unicodeService: unicode, options, buffers } = core;
  return { input, parser: input._parser, charsets, service, mouse, unicode, options, buffers };
}

/** The object itself is used, and not the copy that the schema returns. */
function refuseOther<T>(schema: z.ZodType<T>, value: unknown): asserts value is T {
  const { error } = schema.safeParse(value);
  if (error !== undefined) throw new Error(`xterm.js has changed: ${z.prettifyError(error)}`);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
