// Short messages at the edge of the page: results and failures.
import { type ReadonlySignal, signal } from "@preact/signals";
import { errorMessage } from "../../protocol/errors.ts";
import { plainWords } from "../machines/outage.ts";

export type Notice = { readonly id: number; readonly tone: "info" | "error"; readonly text: string };

const SHOWN_MS = { info: 4_000, error: 9_000 } as const;
/** At most this many at once; the oldest is removed first. */
const MAX_NOTICES = 4;

export class Notices implements Disposable {
  readonly #list = signal<readonly Notice[]>([]);
  readonly list: ReadonlySignal<readonly Notice[]> = this.#list;
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>();
  #lastId = 0;

  info(text: string): void {
    this.told({ tone: "info", text });
  }

  /** Shows the action that failed and the reason. */
  failed(what: string, error: unknown): void {
    const plain = plainWords(error);
    const why = errorMessage(error);
    this.told({ tone: "error", text: plain === undefined ? `${what}: ${why}` : `${what}. ${plain}` });
  }

  /** Acts, and shows a failure. */
  async attempt(what: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.failed(what, error);
    }
  }

  told({ tone, text }: Omit<Notice, "id">): void {
    const repeated = this.#list.value.find((notice) => notice.text === text);
    if (repeated !== undefined) this.close(repeated.id);
    const oldest = this.#list.value[0];
    if (this.#list.value.length >= MAX_NOTICES && oldest !== undefined) this.close(oldest.id);
    this.#lastId += 1;
    const id = this.#lastId;
    this.#list.value = [...this.#list.value, { id, tone, text }];
    this.#timers.set(
      id,
      setTimeout(() => this.close(id), SHOWN_MS[tone]),
    );
  }

  close(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.#list.value = this.#list.value.filter((notice) => notice.id !== id);
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
