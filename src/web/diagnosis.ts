// `ttyhq` in the browser's console, for inspection and for tests: tools cannot read the terminal's canvas.
import type { Page } from "./app/page.ts";

export function exposeDiagnosis(window: Window, page: Page): void {
  const open = () => page.workspace.peek()?.panes.focused.peek();
  const diagnosis = {
    /** The content of the open terminal, scrollback included; undefined if none is open. */
    get text() {
      return open()?.emulator.text;
    },
    /** Its visible rows. */
    get shownText() {
      return open()?.emulator.shownText;
    },
    /** In cells. */
    get size() {
      return open()?.emulator.size;
    },
    /** Received bytes of output that are not parsed yet. */
    get unparsedBytes() {
      return open()?.progress.backlog.unparsedBytes;
    },
    /** The part of it that the terminal emulator has, and its maximum. */
    get parsingBytes() {
      return open()?.progress.backlog.parsingBytes;
    },
    get parsingLimit() {
      return open()?.progress.backlog.parsingLimit;
    },
    /** The offset of the next byte of the session's output. */
    get nextOffset() {
      return open()?.progress.nextOffset;
    },
    get phase() {
      return open()?.phase.peek().kind;
    },
    /** The content of the visible sessions, by id; the other fields describe the focused one. */
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
