// Texts that a session's programs write to the clipboard (OSC 52), after the person's permission.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Preferences } from "../preferences.ts";

type ClipboardRequestsOptions = {
  readonly sessionId: string;
  readonly preferences: Pick<Preferences, "mayWriteClipboard" | "answerClipboard">;
  /** Rejects if the browser does not let the page write. */
  readonly write: (text: string) => Promise<void>;
};

export class ClipboardRequests {
  readonly #options: ClipboardRequestsOptions;
  readonly #waiting = signal<string | undefined>(undefined);
  /** The latest text that waits for an answer. */
  readonly waiting: ReadonlySignal<string | undefined> = this.#waiting;

  constructor(options: ClipboardRequestsOptions) {
    this.#options = options;
  }

  request(text: string): void {
    const { sessionId, preferences } = this.#options;
    const isAllowed = preferences.mayWriteClipboard(sessionId);
    // An earlier text, which the browser did not take, is outdated.
    this.#waiting.value = isAllowed === undefined ? text : undefined;
    if (isAllowed) void this.#write(text);
  }

  /** Remembered for the session, which asks only once. */
  answer(isAllowed: boolean): void {
    const text = this.#waiting.peek();
    const { sessionId, preferences } = this.#options;
    this.#waiting.value = undefined;
    preferences.answerClipboard(sessionId, isAllowed);
    if (isAllowed && text !== undefined) void this.#write(text);
  }

  /** Some browsers write only right after a click: then the question appears again, and its button is that click. */
  async #write(text: string): Promise<void> {
    try {
      await this.#options.write(text);
    } catch {
      this.#waiting.value = text;
    }
  }
}

/** Uses a copy event if there is no `navigator.clipboard`: it works without HTTPS, but only right after a click. */
export async function writeClipboard(text: string): Promise<void> {
  if ("clipboard" in navigator) return await navigator.clipboard.writeText(text);
  const put = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.stopImmediatePropagation();
    event.clipboardData?.setData("text/plain", text);
  };
  window.addEventListener("copy", put, { capture: true, once: true });
  const isWritten = document.execCommand("copy");
  window.removeEventListener("copy", put, { capture: true });
  if (!isWritten) throw new Error("the browser does not let the page write to the clipboard");
}
