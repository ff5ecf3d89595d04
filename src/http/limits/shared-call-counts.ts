import type { SharedCounts } from "../../lib/data/live-records.ts";
import { type CallCounts, WINDOW_MS } from "./rate-limit.ts";

/** Calls are told to the other HQs this often. */
export const TELL_INTERVAL_MS = 1_000;
/** Callers of whom one message tells. */
const MAX_TOLD = 1_000;

type Count = {
  /** At all HQs, as the registry last answered. */
  readonly told: number;
  /** At this HQ, since. */
  readonly untold: number;
};

type SharedCallCountsOptions = {
  readonly counts: SharedCounts;
  readonly kind: "api" | "sessions";
  /** Monotonic milliseconds. */
  readonly now: () => number;
};

/**
 * Counts the calls of a minute at all HQs that share a registry. No call waits for the registry: each HQ tells its calls a
 * second later, and is answered with those at all HQs by the same callers. What cannot be told counts here alone.
 */
export class SharedCallCounts implements CallCounts {
  readonly localKeys = false;
  readonly #options: SharedCallCountsOptions;
  #callers = new Map<string, Count>();
  #endsAt: number;
  #telling: NodeJS.Timeout | undefined;

  constructor(options: SharedCallCountsOptions) {
    this.#options = options;
    this.#endsAt = options.now() + WINDOW_MS;
  }

  increment(key: string): { totalHits: number; resetTime: Date } {
    const now = this.#options.now();
    if (now >= this.#endsAt) this.#begin(now + WINDOW_MS);
    const { told, untold } = this.#callers.get(key) ?? { told: 0, untold: 0 };
    this.#callers.set(key, { told, untold: untold + 1 });
    this.#telling ??= setTimeout(() => void this.#tell(), TELL_INTERVAL_MS).unref();
    return { totalHits: told + untold + 1, resetTime: new Date(Date.now() + this.#endsAt - now) };
  }

  /** Calls count, whatever becomes of them. */
  decrement(): void {}

  resetKey(): void {}

  #begin(endsAt: number): void {
    this.#callers = new Map();
    this.#endsAt = endsAt;
  }

  async #tell(): Promise<void> {
    const untold = [...this.#callers].filter(([, count]) => count.untold > 0);
    const calls = new Map(untold.slice(0, MAX_TOLD).map(([key, { untold }]) => [key, untold]));
    const { counts, kind, now } = this.#options;
    const answer = await counts.add(kind, calls).catch(() => undefined);
    const endsAt = answer === undefined ? this.#endsAt : now() + answer.leftMs;
    // The registry's minute is the same for all. A new one has begun where it ends much later.
    if (endsAt - this.#endsAt > WINDOW_MS / 2) this.#begin(endsAt);
    else this.#endsAt = endsAt;
    for (const [key, added] of calls) {
      // Without a count a new minute has begun meanwhile.
      const { told, untold } = this.#callers.get(key) ?? { told: 0, untold: added };
      this.#callers.set(key, { told: answer?.total.get(key) ?? told + added, untold: untold - added });
    }
    const isMore = [...this.#callers.values()].some((count) => count.untold > 0);
    this.#telling = isMore ? setTimeout(() => void this.#tell(), TELL_INTERVAL_MS).unref() : undefined;
  }
}
