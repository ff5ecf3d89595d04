import { collectBytes } from "../lib/collect.ts";
import { SNAPSHOT_INTERVAL_MS } from "../protocol/limits.ts";
import type { SessionBackend } from "../sessions/backend.ts";

const MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024;

/** Snapshots of one session for one viewer: at once, then at most one in each interval while output goes on (contract 1.3). */
export class Snapshots implements Disposable {
  readonly #read: () => Promise<Uint8Array>;
  readonly #offer: (snapshot: Uint8Array) => void;
  readonly #intervalMs: number;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #isReading = false;
  #isWanted = false;
  #isDisposed = false;

  constructor(options: {
    read: () => Promise<Uint8Array>;
    offer: (snapshot: Uint8Array) => void;
    /** As SUBSCRIBE says them, 0 = the server's default. */
    minIntervalMs: number;
    maxIntervalMs: number;
    now: () => number;
  }) {
    this.#read = options.read;
    this.#offer = options.offer;
    this.#now = options.now;
    const wanted = options.minIntervalMs === 0 ? SNAPSHOT_INTERVAL_MS : options.minIntervalMs;
    this.#intervalMs = options.maxIntervalMs === 0 ? wanted : Math.min(wanted, options.maxIntervalMs);
    this.changed();
  }

  /** The screen has changed, or may have. */
  changed(): void {
    if (this.#isDisposed) return;
    this.#isWanted = true;
    if (this.#isReading || this.#timer !== undefined) return;
    const wait = this.#lastMs + this.#intervalMs - this.#now();
    if (wait <= 0) void this.#take();
    else this.#timer = setTimeout(() => void this.#take(), wait);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
  }

  async #take(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    this.#isWanted = false;
    this.#lastMs = this.#now();
    try {
      const snapshot = await this.#read();
      if (!this.#isDisposed) this.#offer(snapshot);
    } catch {
      // The session is gone or its host is out of reach: the next change asks again.
    } finally {
      this.#isReading = false;
      if (this.#isWanted) this.changed();
    }
  }
}

/** A SNAPSHOT_VT of the session as it is now. */
export async function readSnapshot(
  backend: SessionBackend,
  sessionId: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const content = await backend.view(sessionId, { kind: "buffer" }, signal);
  return collectBytes(content.body, MAX_SNAPSHOT_BYTES);
}
