// Where a session's past ends. What was written before is drawn, but a program that asked the terminal something then is
// not answered any more, and no bell rings.
import { ServiceError } from "../../protocol/errors.ts";

/** So long after a question that failed it is asked again. Requests are counted by the server. */
const RETRY_MS = 2_000;

export type LiveEdgeOptions = {
  /** Bytes that the session has written in all by now. */
  readonly written: () => Promise<number>;
  readonly retryMs?: number | undefined;
};

export class LiveEdge implements Disposable {
  readonly #written: () => Promise<number>;
  readonly #retryMs: number;
  /** Of the byte that is the first of the present. */
  #from = Number.POSITIVE_INFINITY;
  /** What looks for it: an answer to an earlier one says nothing. */
  #search: object | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor({ written, retryMs = RETRY_MS }: LiveEdgeOptions) {
    this.#written = written;
    this.#retryMs = retryMs;
  }

  /** Whether the byte at that offset is seen when it is written. */
  has(offset: number): boolean {
    return offset >= this.#from;
  }

  /** It begins there, unless what looks for it finds something else. */
  at(offset: number): void {
    this.#from = offset;
  }

  /** It begins there, says the connection of now: nothing is left to be found. */
  found(offset: number): void {
    this.#stop();
    this.#from = offset;
  }

  /** What comes is the past, until it is found where that ends. */
  cut(): void {
    this.#stop();
    this.#from = Number.POSITIVE_INFINITY;
  }

  /** After a cut: what was written meanwhile is the past, and that ends where the server says the session is now. */
  find(): void {
    this.#stop();
    const search = {};
    this.#search = search;
    void this.#ask(search);
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #stop(): void {
    this.#search = undefined;
    clearTimeout(this.#retry);
  }

  async #ask(search: object): Promise<void> {
    try {
      const written = await this.#written();
      if (this.#search === search) this.at(written);
    } catch (error) {
      // Until it is known nothing is answered; the output itself goes on. Of a session that is gone nothing will be; but not
      // every refusal says that: a proxy has a 404 of its own.
      const isGone = error instanceof ServiceError && error.code === "session_not_found";
      if (this.#search !== search || isGone) return;
      this.#retry = setTimeout(() => void this.#ask(search), this.#retryMs);
    }
  }
}
