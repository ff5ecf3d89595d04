// The files that a person sends to one session: one after another, so that their paths are typed in order.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { SavedFile } from "../../protocol/schemas/file.ts";
import type { FileToSend } from "./send-file.ts";
import { shellQuote } from "./shell-quote.ts";

export type Upload = {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly sentBytes: number;
};

type UploadsOptions = {
  /** The session's id. */
  readonly id: string;
  readonly sendFile: (file: FileToSend) => Promise<SavedFile>;
  /** Inserts text as a paste does. */
  readonly paste: (text: string) => void;
  readonly onFailed: (what: string, error: unknown) => void;
};

type Waiting = { readonly id: number; readonly file: File; readonly stop: AbortController };

export class Uploads implements Disposable {
  readonly #options: UploadsOptions;
  /** The first one is being sent. */
  readonly #queue: Waiting[] = [];
  readonly #list = signal<readonly Upload[]>([]);
  /** Uploads that are not complete. */
  readonly list: ReadonlySignal<readonly Upload[]> = this.#list;
  #lastId = 0;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  send(files: Iterable<File>): void {
    const isIdle = this.#queue.length === 0;
    for (const file of files) {
      this.#lastId += 1;
      const id = this.#lastId;
      this.#queue.push({ id, file, stop: new AbortController() });
      this.#list.value = [...this.#list.value, { id, name: file.name, size: file.size, sentBytes: 0 }];
    }
    if (isIdle) void this.#work();
  }

  cancel(id: number): void {
    this.#queue.find((waiting) => waiting.id === id)?.stop.abort();
  }

  /** Cancels all uploads. */
  [Symbol.dispose](): void {
    for (const { stop } of this.#queue) stop.abort();
  }

  async #work(): Promise<void> {
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const { id } = next;
      await this.#send(next);
      this.#queue.shift();
      this.#list.value = this.#list.value.filter((upload) => upload.id !== id);
    }
  }

  async #send({ id, file, stop: { signal } }: Waiting): Promise<void> {
    const { id: sessionId, sendFile, paste, onFailed } = this.#options;
    const onProgress = (sentBytes: number): void => {
      this.#list.value = this.#list.value.map((upload) =>
        upload.id === id ? { ...upload, sentBytes } : upload,
      );
    };
    try {
      signal.throwIfAborted();
      const { path } = await sendFile({ sessionId, file, onProgress, signal });
      if (!signal.aborted) paste(`${shellQuote(path)} `);
    } catch (error) {
      if (!signal.aborted) onFailed(`${file.name} was not sent`, error);
    }
  }
}
