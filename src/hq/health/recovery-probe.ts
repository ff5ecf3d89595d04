import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import {
  MAX_SILENT_REMOTES,
  RECOVERY_PROBE_MS,
  RECOVERY_PROBE_TIMEOUT_MS,
  SILENT_REMOTE_MEMORY_MS,
} from "../../protocol/limits.ts";
import type { Registry, Remote } from "../registry/registry.ts";
import { type AskHealth, healthOf, isItself } from "./probe.ts";

export type RecoveryProbeOptions = {
  readonly registry: Pick<Registry, "takeBack">;
  readonly ask: AskHealth;
  /** Milliseconds, never going back; that of the process unless another one is given. */
  readonly clock?: () => number;
};

type Absence = { readonly remote: Remote; isAsked: boolean };

/**
 * Asks remotes that were removed for their silence how they are, and takes back who answers: one that was cut off, or
 * stood still, hardly longer than a health check waits may never know that it was away, and would register only with
 * its next refresh. Each is asked every RETURN_LOOK_MS for SILENT_REMOTE_MEMORY_MS; at most MAX_SILENT_REMOTES are,
 * those that fell silent last.
 */
export class RecoveryProbe implements Disposable {
  readonly #registry: Pick<Registry, "takeBack">;
  readonly #ask: AskHealth;
  /** By id. */
  readonly #absent: ExpiringMap<string, Absence>;
  #timer: NodeJS.Timeout | undefined;

  constructor({ registry, ask, clock = () => performance.now() }: RecoveryProbeOptions) {
    this.#registry = registry;
    this.#ask = ask;
    this.#absent = new ExpiringMap({
      ...{ lifetimeMs: SILENT_REMOTE_MEMORY_MS, maxEntries: MAX_SILENT_REMOTES, now: clock },
    });
  }

  /** It was removed because it does not answer. */
  expect(remote: Remote): void {
    this.#absent.set(remote.id, { remote, isAsked: false });
    this.#timer ??= setInterval(() => void this.look(), RECOVERY_PROBE_MS).unref();
  }

  /** Resolves when all who are not being asked already have answered or did not. Never rejects. */
  async look(): Promise<void> {
    const absent = this.#absent.values();
    if (absent.length === 0) this.#rest();
    const due = absent.filter(({ isAsked }) => !isAsked);
    await Promise.all(due.map((absence) => this.#lookAt(absence)));
  }

  [Symbol.dispose](): void {
    this.#rest();
    this.#absent.clear();
  }

  async #lookAt(absence: Absence): Promise<void> {
    const { remote } = absence;
    absence.isAsked = true;
    // Not longer: what was sent while it was cut off is lost, and another question gets through sooner.
    const health = await healthOf(this.#ask, remote, RECOVERY_PROBE_TIMEOUT_MS);
    absence.isAsked = false;
    if (!isItself(health, remote) || this.#absent.get(remote.id) !== absence) return;
    this.#absent.delete(remote.id);
    await this.#registry.takeBack(remote);
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
