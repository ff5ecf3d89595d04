// What the main thread and the thread of worker.ts say to each other.
import { z } from "zod";
import { DEFAULT_COLS, DEFAULT_ROWS } from "../../../protocol/limits.ts";
import { TerminalSize } from "../../../protocol/schemas/session.ts";

const Bytes = z.instanceof(Uint8Array);
const Offset = z.int().min(0);

/** Where a screen comes from. */
export const ScreenSource = z.object({
  /** Of the session: one terminal is kept for each. */
  id: z.string(),
  /** Raw output; only ever appended to. */
  outputPath: z.string(),
  /** Where this module keeps a screen, so that the next need not be made from the beginning. */
  checkpointPath: z.string(),
  /** Bytes of the file that are valid and to be shown. */
  upTo: Offset,
  /** The sizes in force from each offset on, in cells, in ascending order, the first at 0. */
  sizes: z
    .array(TerminalSize.extend({ offset: Offset }))
    .min(1)
    .readonly(),
});
export type ScreenSource = Readonly<z.infer<typeof ScreenSource>>;

/** The size in force at an offset. */
export function sizeAt(sizes: ScreenSource["sizes"], offset: number): TerminalSize {
  const { cols, rows } = sizes.findLast((size) => size.offset <= offset) ?? {
    cols: DEFAULT_COLS,
    rows: DEFAULT_ROWS,
  };
  return { cols, rows };
}

export function isSameSize(a: TerminalSize, b: TerminalSize): boolean {
  return a.cols === b.cols && a.rows === b.rows;
}

/** What is asked of a screen; `prepare` asks for nothing but a checkpoint. */
export const ScreenView = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("resync"), isScreenOnly: z.boolean() }),
  z.object({ kind: z.literal("snapshot") }),
  z.object({ kind: z.literal("text"), scrollback: z.boolean(), styles: z.boolean() }),
  z.object({ kind: z.literal("prepare") }),
]);
export type ScreenView = z.infer<typeof ScreenView>;

/** The answer to a view: where the output was cut, and its text or bytes. */
export const Screen = z.object({ offset: Offset, size: TerminalSize, text: z.string(), bytes: Bytes });
export type Screen = z.infer<typeof Screen>;

export const ScreenRequest = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("view"), number: z.int(), source: ScreenSource, view: ScreenView }),
  /** The session is gone, with its files. */
  z.object({ kind: z.literal("forget"), id: z.string() }),
  z.object({ kind: z.literal("close") }),
]);
export type ScreenRequest = z.infer<typeof ScreenRequest>;

export const ScreenReply = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("screen"), number: z.int(), screen: Screen }),
  z.object({ kind: z.literal("failed"), number: z.int(), message: z.string() }),
]);
export type ScreenReply = z.infer<typeof ScreenReply>;

export const ScreenPoolOptions = z.object({ idleMs: z.number(), maxTerminals: z.int() });
export type ScreenPoolOptions = z.infer<typeof ScreenPoolOptions>;
