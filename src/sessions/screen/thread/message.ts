// Messages between the main thread and the thread of worker.ts.
import type { MessagePort } from "node:worker_threads";
import { DEFAULT_COLS, DEFAULT_ROWS } from "../../../protocol/limits.ts";
import type { TerminalSize } from "../../../protocol/schemas/session.ts";
import type { View } from "../../backend.ts";

/** The output that a screen is made from. */
export type ScreenSource = {
  /** The thread keeps one terminal for each id. */
  readonly id: string;
  /** Raw output: the path of a file that only grows, or the bytes. */
  readonly output: string | Uint8Array;
  /** The file of the checkpoint, from which parsing continues. */
  readonly checkpointPath?: string;
  /** The screen shows the output before this offset; later bytes may be invalid. */
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

export type ScreenView = Extract<View, { kind: "text" | "buffer" | "resync" }>;

/** The answer to a view: the screen at `offset` of the output. */
export type Screen = {
  readonly offset: number;
  readonly size: TerminalSize;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

export type ScreenRequest =
  | {
      readonly kind: "view";
      readonly source: ScreenSource;
      readonly view: ScreenView;
      /** Gets one ScreenReply. */
      readonly reply: MessagePort;
    }
  /** The session is gone, with its files. */
  | { readonly kind: "forget"; readonly id: string }
  | { readonly kind: "close" };

export type ScreenReply = { readonly screen: Screen } | { readonly failure: string };
