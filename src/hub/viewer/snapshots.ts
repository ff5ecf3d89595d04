import { collectBytes } from "../../lib/data/collect.ts";
import type { Subscribe } from "../../protocol/frame/payload.ts";
import { REREAD_DELAY_MS, SNAPSHOT_INTERVAL_MS } from "../../protocol/limits.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed } from "../feed.ts";

const MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024;
/** The longest delay of the platform's timers. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The intervals are those of SUBSCRIBE; 0 is the server's default. */
type SnapshotsOptions = Pick<Subscribe, "minIntervalMs" | "maxIntervalMs"> & {
  /** Undefined if there is none before the next change. */
  readonly read: (signal: AbortSignal) => Promise<Uint8Array | undefined>;
  /** Called when a snapshot can be taken, or none is due any more. */
  readonly onReady: () => void;
  readonly now: () => number;
};

/**
 * Snapshots of one session for one viewer: one at once, then at most one per interval while there is output (contract 1.3),
 * each screen once. The next snapshot is read only when the previous one was taken.
 */
export class Snapshots implements Disposable {
  readonly #options: SnapshotsOptions;
  #intervalMs: number;
  #ready: Uint8Array | undefined;
  #last: Uint8Array | undefined;
  #timer: NodeJS.Timeout | undefined;
  #nextMs = Number.NEGATIVE_INFINITY;
  #isReading = false;
  #isWanted = false;
  #hasFailed = false;
  readonly #disposal = new AbortController();

  constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.#intervalMs = intervalOf(options);
    this.changed();
  }

  /** Whether there may be a screen that the viewer has not taken. A screen that cannot be read is not due. */
  get isDue(): boolean {
    return this.#ready !== undefined || ((this.#isWanted || this.#isReading) && !this.#hasFailed);
  }

  /** Reads the last screen of a session that has ended at once. */
  finish(): void {
    this.#intervalMs = 0;
    this.#nextMs = Number.NEGATIVE_INFINITY;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.changed();
  }

  /** The screen may have changed. */
  changed(): void {
    this.#isWanted = true;
    const isWaiting = this.#isReading || this.#ready !== undefined || this.#timer !== undefined;
    if (this.#disposal.signal.aborted || isWaiting) return;
    const wait = this.#nextMs - this.#options.now();
    if (wait <= 0) return void this.#make();
    const due = (): void => {
      this.#timer = undefined;
      this.changed();
    };
    this.#timer = setTimeout(due, Math.min(wait, MAX_TIMER_MS));
  }

  take(): Uint8Array | undefined {
    const snapshot = this.#ready;
    this.#ready = undefined;
    this.#last = snapshot ?? this.#last;
    if (snapshot !== undefined && this.#isWanted) this.changed();
    return snapshot;
  }

  [Symbol.dispose](): void {
    this.#disposal.abort();
    clearTimeout(this.#timer);
  }

  async #make(): Promise<void> {
    this.#isReading = true;
    this.#isWanted = false;
    try {
      const snapshot = await this.#options.read(this.#disposal.signal);
      this.#hasFailed = false;
      if (snapshot !== undefined) {
        if (!isSame(snapshot, this.#last)) this.#ready = snapshot;
        this.#nextMs = this.#options.now() + this.#intervalMs;
      }
    } catch {
      // The session is gone, or its host cannot be reached for a while.
      this.#nextMs = this.#options.now() + Math.max(this.#intervalMs, REREAD_DELAY_MS);
      this.#isWanted = true;
      this.#hasFailed = true;
    }
    this.#isReading = false;
    if (this.#disposal.signal.aborted) return;
    if (this.#ready === undefined && this.#isWanted) this.changed();
    if (!this.#isReading) this.#options.onReady();
  }
}

function isSame(snapshot: Uint8Array, last: Uint8Array | undefined): boolean {
  return last !== undefined && Buffer.compare(snapshot, last) === 0;
}

/** The minimum interval of the client takes precedence over its maximum. */
function intervalOf({ minIntervalMs, maxIntervalMs }: SnapshotsOptions): number {
  if (minIntervalMs > 0) return minIntervalMs;
  return maxIntervalMs === 0 ? SNAPSHOT_INTERVAL_MS : Math.min(SNAPSHOT_INTERVAL_MS, maxIntervalMs);
}

/** A SNAPSHOT_VT payload of the session; undefined if the upstream sends one with the next change. */
export async function readSnapshot(
  feed: Feed,
  backend: SessionBackend,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const { snapshot, hasSnapshots, record, sessionId } = feed;
  // After the end of a session the upstream may send nothing.
  if (snapshot !== undefined || (hasSnapshots && record.status !== "exited")) return snapshot;
  const { body } = await backend.view(sessionId, { kind: "buffer" }, signal);
  return await collectBytes(body, MAX_SNAPSHOT_BYTES);
}
