// Failed logins of a group of HQs, so that an attacker does not get the limit once at each of them.
import { z } from "zod";
import { Emitter } from "../../lib/async/emitter.ts";
import type { FailedLogins } from "../../lib/data/live-records.ts";
import type { Seal } from "../../lib/seal.ts";
import { FAILED_LOGIN_MEMORY_MS, MAX_SHARED_FAILURES } from "../../protocol/limits.ts";
import { REGISTRY_KEYS, SHARE_FAILURES } from "./redis-scripts.ts";
import type { RedisTables } from "./redis-tables.ts";

const SEAL = "failed-login";
/** Failures that wait for Redis; over that the oldest are only counted here. */
const MAX_WAITING = 256;
const Failure = z.tuple([z.string(), z.string()]);
const Answer = z.object({ now: z.number(), failures: z.array(Failure) });

export type RedisFailedLoginsOptions = {
  readonly tables: Pick<RedisTables, "run">;
  readonly seal: Seal;
  /** Of this HQ, whose own failures it knows. */
  readonly replicaId: string;
};

/**
 * Logins do not wait for Redis. Each HQ sends its failures after counting them, and the answer has the failures of the
 * others. Failures that Redis did not take count only at this HQ.
 */
export class RedisFailedLogins implements FailedLogins {
  readonly #options: RedisFailedLoginsOptions;
  readonly #failures = new Emitter<{ readonly text: string; readonly agoMs: number }>();
  readonly #waiting: string[] = [];
  #lastSeen = "-";
  #isTelling = false;

  constructor(options: RedisFailedLoginsOptions) {
    this.#options = options;
  }

  tell(failure: string): void {
    const { seal, replicaId } = this.#options;
    this.#waiting.push(seal.seal(SEAL, JSON.stringify([replicaId, failure])));
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    if (!this.#isTelling) void this.#tellAll();
  }

  watch(listener: (failure: string, agoMs: number) => void): Disposable {
    return this.#failures.on(({ text, agoMs }) => listener(text, agoMs));
  }

  /** One script at a time, so that no failure is received twice. */
  async #tellAll(): Promise<void> {
    this.#isTelling = true;
    while (this.#waiting.length > 0) {
      const values = [this.#lastSeen, `${FAILED_LOGIN_MEMORY_MS}`, `${MAX_SHARED_FAILURES}`];
      const all = this.#waiting.splice(0);
      try {
        const answer = await this.#options.tables.run(
          SHARE_FAILURES,
          [REGISTRY_KEYS.failures],
          [...values, ...all],
        );
        const { now, failures } = Answer.parse(JSON.parse(z.string().parse(answer)));
        for (const [entryId, sealed] of failures) this.#heard(now, entryId, sealed);
      } catch {
        // The loss of Redis is logged by the registry.
      }
    }
    this.#isTelling = false;
  }

  #heard(now: number, entryId: string, sealed: string): void {
    this.#lastSeen = `(${entryId}`;
    const [from, text] = this.#options.seal.openJson(SEAL, sealed, Failure) ?? [];
    if (text === undefined || from === this.#options.replicaId) return;
    this.#failures.emit({ text, agoMs: Math.max(0, now - Number.parseInt(entryId, 10)) });
  }
}
