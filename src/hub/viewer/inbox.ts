import type { Frame } from "../../protocol/frame/frame.ts";
import { MAX_OPEN_REQUESTS } from "../../protocol/limits.ts";
import type { Peer } from "../outbox.ts";

/**
 * The frames of one client, handled strictly one after the other (contract 1.10). At most MAX_OPEN_REQUESTS wait, and
 * what had arrived when reading stopped; while so many wait, or its answers are left unread, the client is not read.
 */
export class Inbox {
  readonly #peer: Pick<Peer, "pause" | "resume">;
  readonly #handle: (frame: Frame) => Promise<void> | undefined;
  readonly #waiting: Frame[] = [];
  #isBusy = false;
  #isCrowded = false;
  #isPaused = false;
  #isClosed = false;

  /** `handle` returns what the next frame has to wait for, if anything; it must not reject. */
  constructor(options: {
    peer: Pick<Peer, "pause" | "resume">;
    handle: (frame: Frame) => Promise<void> | undefined;
  }) {
    this.#peer = options.peer;
    this.#handle = options.handle;
  }

  receive(frame: Frame): void {
    if (this.#isClosed) return;
    // The message that the frame views need not outlive this call.
    if (this.#isBusy) this.#waiting.push({ ...frame, payload: frame.payload.slice() });
    else this.#begin(frame);
    this.#regulate();
  }

  /** Whether the client leaves its answers unread. */
  crowded(isCrowded: boolean): void {
    this.#isCrowded = isCrowded;
    this.#regulate();
  }

  /** Nothing is handled any more. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  #begin(frame: Frame): void {
    const done = this.#handle(frame);
    if (done === undefined) return;
    this.#isBusy = true;
    void done.then(() => this.#goOn());
  }

  #goOn(): void {
    this.#isBusy = false;
    while (!this.#isBusy && !this.#isClosed) {
      const frame = this.#waiting.shift();
      if (frame === undefined) break;
      this.#begin(frame);
    }
    this.#regulate();
  }

  #regulate(): void {
    const isFull = this.#isCrowded || this.#waiting.length >= MAX_OPEN_REQUESTS;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#peer.pause();
    else this.#peer.resume();
  }
}
