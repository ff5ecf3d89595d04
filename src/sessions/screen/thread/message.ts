// Messages between the main thread and the thread of worker.ts.
import { DEFAULT_COLS, DEFAULT_ROWS } from "../../../protocol/limits.ts";
import type { TerminalSize } from "../../../protocol/schemas/session.ts";

/** The output that a screen is made from. */
export type ScreenSource = {
  /** Of the session: one terminal is kept for each. */
  readonly id: string;
  /** Raw output; only ever appended to. */
  readonly outputPath: string;
  /** Where a screen is kept, so that the next one need not be made from the beginning. */
  readonly checkpointPath: string;
  /** Bytes of the file that are valid and to be shown. */
  readonly upTo: number;
  /** The sizes in force from each offset on, in cells, in ascending order, the first at 0. */
  readonly sizes: readonly (TerminalSize & { readonly offset: number })[];
};

/** The size in force at an offset. */
export function sizeAt(sizes: ScreenSource["sizes"], offset: number): TerminalSize {
  const size = sizes.findLast((each) => each.offset <= offset);
  return { cols: size?.cols ?? DEFAULT_COLS, rows: size?.rows ?? DEFAULT_ROWS };
}

export function isSameSize(a: TerminalSize, b: TerminalSize): boolean {
  return a.cols === b.cols && a.rows === b.rows;
}

/** "prepare" only makes a checkpoint. */
export type ScreenView =
  | { readonly kind: "resync"; readonly isScreenOnly: boolean }
  | { readonly kind: "snapshot" }
  | { readonly kind: "text"; readonly scrollback: boolean; readonly styles: boolean }
  | { readonly kind: "prepare" };

/** The answer to a view: where the output was cut, and its text or bytes. */
export type Screen = {
  readonly offset: number;
  readonly size: TerminalSize;
  readonly text: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

export type ScreenRequest =
  | {
      readonly kind: "view";
      readonly number: number;
      readonly source: ScreenSource;
      readonly view: ScreenView;
    }
  /** The session is gone, with its files. */
  | { readonly kind: "forget"; readonly id: string }
  | { readonly kind: "close" };

export type ScreenReply =
  | { readonly kind: "screen"; readonly number: number; readonly screen: Screen }
  | { readonly kind: "failed"; readonly number: number; readonly message: string };

export type ScreenPoolOptions = { readonly idleMs: number; readonly maxTerminals: number };
