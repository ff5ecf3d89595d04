// The reads that a subscription waits for while it is not at the live edge: the journal, a screen.
import { setTimeout as pause } from "node:timers/promises";
import { ServiceError } from "../../protocol/errors.ts";
import { REREAD_DELAY_MS } from "../../protocol/limits.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed } from "../feed.ts";
import { type HistoryPiece, readHistory } from "./history.ts";
import { readScreen, type Screen, unrecordedScreen } from "./screen.ts";

export type CatchUpEvents = {
  /** An answer was delivered. */
  readonly settled: () => void;
  /** A read failed, the first since the subscription last caught up. Reads are repeated unless the session is gone. */
  readonly failed: (error: unknown) => void;
};

/** One read at a time. After `cancel` nothing of an earlier read is delivered. */
export class CatchUp implements AsyncDisposable {
  readonly #feed: Feed;
  readonly #backend: SessionBackend;
  readonly #events: CatchUpEvents;
  readonly #abort = new AbortController();
  /** Aborted with the subscription. */
  readonly signal = this.#abort.signal;
  /** The stretch of the journal that is being read. */
  #history: { pieces: ReturnType<typeof readHistory>; stop: AbortController; hasOutput: boolean } | undefined;
  #hasFailed = false;
  /** Counts the calls of `cancel`. */
  #turn = 0;

  constructor(feed: Feed, backend: SessionBackend, events: CatchUpEvents) {
    this.#feed = feed;
    this.#backend = backend;
    this.#events = events;
  }

  /** The journal is being read. */
  get isReading(): boolean {
    return this.#history !== undefined;
  }

  /** The next piece of the journal from `from` up to the feed's window; undefined at the end. */
  async read(from: number, hasSizes: boolean): Promise<HistoryPiece | undefined> {
    const { sessionId, start: to, sizesAtStart: sizesAfter } = this.#feed;
    if (this.#history === undefined) {
      const stop = new AbortController();
      const stretch = { from, to, hasSizes, sizesAfter };
      const pieces = readHistory(this.#backend, sessionId, stretch, stop.signal);
      this.#history = { pieces, stop, hasOutput: false };
    }
    const history = this.#history;
    const { value } = await history.pieces.next();
    history.hasOutput ||= value instanceof Uint8Array;
    return value;
  }

  /** The journal was read. Returns whether it had any output. */
  finish(): boolean {
    const hasOutput = this.#history?.hasOutput === true;
    void this.#close();
    return hasOutput;
  }

  /** `isLiveOnly`: the client may not see the output so far. */
  async screen(isLiveOnly: boolean): Promise<Screen> {
    const { isRecorded, sessionId } = this.#feed;
    if (!isRecorded) return unrecordedScreen(this.#feed, isLiveOnly);
    return await readScreen(sessionId, this.#backend, this.signal);
  }

  /** The subscription is at the live edge. */
  caughtUp(): void {
    this.#hasFailed = false;
  }

  cancel(): void {
    this.#turn += 1;
    void this.#close();
  }

  /** Calls `answer` with the result, or `retry` some time after a failure. */
  work<T>(ask: () => Promise<T>, answer: (result: T) => void, retry: () => void): void {
    const turn = this.#turn;
    const settle = (deliver: () => void): void => {
      if (turn !== this.#turn || this.signal.aborted) return;
      deliver();
      this.#events.settled();
    };
    ask().then(
      (result) => settle(() => answer(result)),
      (error: unknown) => settle(() => this.#failed(error, retry)),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#close();
  }

  #failed(error: unknown, retry: () => void): void {
    if (!this.#hasFailed) this.#events.failed(error);
    this.#hasFailed = true;
    void this.#close();
    if (error instanceof ServiceError && error.code === "session_not_found") return;
    const { signal } = this;
    this.work(() => pause(REREAD_DELAY_MS, undefined, { signal, ref: false }), retry, retry);
  }

  /** Need not be awaited: it only releases resources. */
  async #close(): Promise<void> {
    const history = this.#history;
    this.#history = undefined;
    history?.stop.abort();
    // A pending piece fails or arrives first; its result is ignored.
    await history?.pieces.return(undefined).catch(() => undefined);
  }
}
