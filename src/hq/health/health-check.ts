import { histogram } from "../../lib/data/histogram.ts";
import { Tally } from "../../lib/data/tally.ts";
import {
  HEALTH_CHECK_INTERVAL_MS,
  HEALTH_CHECK_TIMEOUT_MS,
  RECOVERY_PROBE_MS,
} from "../../protocol/limits.ts";
import type { IsAlive, Registry } from "../registry/registry.ts";
import type { Remote } from "../remote-state.ts";

/** Whether this HQ may remove remotes. `passed`: another HQ, which no remote answered, passed the lease on. */
export type LeaseState = "own" | "passed" | "other";

/** Lets one of several HQs remove remotes, as long as it can tell the others. */
export type Lease = {
  /** Takes or keeps the lease until after the next check. Never rejects: `other` if the registry cannot be reached. */
  take(): Promise<LeaseState>;
  /** Leaves the lease to other HQs for a while. False if there are none. Never rejects. */
  pass(): Promise<boolean>;
};

export type HealthCheckOptions = {
  readonly registry: Registry;
  readonly isAlive: IsAlive;
  /** `undefined`: there is no other HQ. */
  readonly lease?: Lease | undefined;
  /** Called for each remote that answered. */
  readonly onAlive: (remote: Remote) => void;
  readonly onDown: (remote: Remote) => void;
};

/**
 * Checks all remotes concurrently every 15 s; a remote that does not answer is removed (specification 3.2, contract 6.3).
 * Each of several HQs checks its remotes, but only one removes them. Removed remotes are checked every second, since one
 * that was cut off briefly does not know that it was removed and registers only with its next refresh.
 */
export class HealthCheck implements Disposable {
  /** Results since the start: `alive` or `silent`, and the seconds that each took. */
  readonly results = new Tally("result").expecting(["alive"], ["silent"]);
  readonly durations = histogram("probe_duration_seconds", "Time until a remote answered.");
  /** Number of remotes that were removed because they did not answer. */
  removed = 0;
  readonly #options: HealthCheckOptions;
  readonly #timers: readonly NodeJS.Timeout[];

  constructor(options: HealthCheckOptions) {
    this.#options = options;
    this.#timers = [
      setInterval(() => void this.check(), HEALTH_CHECK_INTERVAL_MS).unref(),
      setInterval(() => void options.registry.recover(), RECOVERY_PROBE_MS).unref(),
    ];
  }

  /** Resolves when every remote has answered or was removed. */
  async check(): Promise<void> {
    const { registry, lease, onDown } = this.#options;
    const taking = lease?.take() ?? "own";
    const answers = await Promise.all(registry.remotes.map((remote) => this.#check(remote)));
    if (answers.every(Boolean) || !(await this.#mayRemove(await taking, !answers.some(Boolean)))) return;
    const remove = async (remote: Remote): Promise<void> => {
      if (!(await registry.expire(remote))) return;
      this.removed += 1;
      onDown(remote);
    };
    await Promise.all(registry.suspects.map(remove));
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #check(remote: Remote): Promise<boolean> {
    const { registry, isAlive, onAlive } = this.#options;
    const began = performance.now();
    const hasAnswered = await isAlive(remote, HEALTH_CHECK_TIMEOUT_MS);
    this.durations.observe((performance.now() - began) / 1000);
    this.results.add(hasAnswered ? "alive" : "silent");
    await registry.checked(remote, hasAnswered);
    if (hasAnswered) onAlive(remote);
    return hasAnswered;
  }

  /** If no remote answers, this HQ may be cut off itself: another HQ is to check before all are removed. */
  async #mayRemove(state: LeaseState, hasNoAnswer: boolean): Promise<boolean> {
    const { lease } = this.#options;
    if (lease === undefined) return true;
    if (state === "other") return false;
    if (hasNoAnswer && state === "own" && (await lease.pass())) return false;
    // The lease may have expired while this process was stopped.
    return (await lease.take()) !== "other";
  }
}
