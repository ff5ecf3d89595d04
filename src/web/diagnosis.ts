// `ttyhq` in the browser's console, for the curious and for tests: the terminal is drawn on a canvas, where no tool can read it.
import type { Page } from "./app/page.ts";

export type Diagnosis = {
  /** What the open terminal holds, scrollback included; undefined while none is open. */
  readonly text: string | undefined;
  /** The rows of it that are in sight. */
  readonly shownText: string | undefined;
  /** Cells. */
  readonly size: { readonly cols: number; readonly rows: number } | undefined;
  /** The byte of the session's output that comes next. */
  readonly nextOffset: number | undefined;
  /** Output that came and is not parsed yet, in bytes. */
  readonly unparsedBytes: number | undefined;
  /** The part of it that the terminal emulator has, and how much that may be. */
  readonly parsingBytes: number | undefined;
  readonly parsingLimit: number | undefined;
  readonly phase: string | undefined;
  readonly connection: string | undefined;
  /** What the sessions in sight hold, by their ids; the other fields are of the one that has the keyboard. */
  readonly panes: Readonly<Record<string, string>>;
};

export function exposeDiagnosis(window: Window, page: Page): void {
  const open = () => page.workspace.peek()?.panes.focused.peek();
  const diagnosis: Diagnosis = {
    get text() {
      return open()?.emulator.text;
    },
    get shownText() {
      return open()?.emulator.shownText;
    },
    get size() {
      return open()?.emulator.size;
    },
    get unparsedBytes() {
      return open()?.progress.unparsedBytes;
    },
    get parsingBytes() {
      return open()?.progress.parsingBytes;
    },
    get parsingLimit() {
      return open()?.progress.parsingLimit;
    },
    get nextOffset() {
      return open()?.progress.nextOffset;
    },
    get phase() {
      return open()?.phase.peek().kind;
    },
    get panes() {
      const all = page.workspace.peek()?.panes.open.peek() ?? new Map();
      return Object.fromEntries([...all].map(([id, { emulator }]) => [id, emulator.text]));
    },
    get connection() {
      return page.workspace.peek()?.connection.peek().kind;
    },
  };
  Object.defineProperty(window, "ttyhq", { value: diagnosis });
}
