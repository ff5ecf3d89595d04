// The boundary between a session's earlier and live output. Earlier output is drawn, but its queries are not answered
// and its bells do not ring.
import { ServiceError } from "../../protocol/errors.ts";

/** Delay before a failed request is repeated. The server counts requests. */
const RETRY_MS = 2_000;

export type LiveEdgeOptions = {
  /** The total number of bytes that the session has written. */
  readonly written: () => Promise<number>;
  readonly retryMs?: number | undefined;
};

export class LiveEdge implements Disposable {
  readonly #written: () => Promise<number>;
  readonly #retryMs: number;
  /** The offset of the first live byte. */
  #from = Number.POSITIVE_INFINITY;
  /** The current request: answers to earlier ones are ignored. */
  #search: object | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor({ written, retryMs = RETRY_MS }: LiveEdgeOptions) {
    this.#written = written;
    this.#retryMs = retryMs;
  }

  /** Whether the byte at that offset was received live. */
  has(offset: number): boolean {
    return offset >= this.#from;
  }

  /** The assumed boundary, unless the current request finds another. */
  at(offset: number): void {
    this.#from = offset;
  }

  /** The boundary from the current connection: no request is needed. */
  found(offset: number): void {
    this.#stop();
    this.#from = offset;
  }

  /** New output counts as earlier output until the boundary is known. */
  cut(): void {
    this.#stop();
    this.#from = Number.POSITIVE_INFINITY;
  }

  /** After a cut: output of the meantime is earlier output, up to the session's current position at the server. */
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
      // Until it is known no query is answered; output continues. A removed session gets no boundary. But a 404 does
      // not always mean that: proxies have their own.
      const isGone = error instanceof ServiceError && error.code === "session_not_found";
      if (this.#search !== search || isGone) return;
      this.#retry = setTimeout(() => void this.#ask(search), this.#retryMs);
    }
  }
}
