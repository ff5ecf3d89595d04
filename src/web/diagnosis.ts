// `ttyhq` in the browser's console, for inspection and for tests: tools cannot read the terminal's canvas.
import type { Page } from "./app/page.ts";

export type Diagnosis = {
  /** The content of the open terminal, scrollback included; undefined if none is open. */
  readonly text: string | undefined;
  /** Its visible rows. */
  readonly shownText: string | undefined;
  /** Size in cells. */
  readonly size: { readonly cols: number; readonly rows: number } | undefined;
  /** The offset of the next byte of the session's output. */
  readonly nextOffset: number | undefined;
  /** Received bytes of output that are not parsed yet. */
  readonly unparsedBytes: number | undefined;
  /** The part of it that the terminal emulator has, and its maximum. */
  readonly parsingBytes: number | undefined;
  readonly parsingLimit: number | undefined;
  readonly phase: string | undefined;
  readonly connection: string | undefined;
  /** The content of the visible sessions, by id; the other fields describe the focused one. */
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
