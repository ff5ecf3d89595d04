import {
  MAX_SILENT_REMOTES,
  RETURN_LOOK_MS,
  RETURN_LOOK_TIMEOUT_MS,
  SILENT_REMOTE_MEMORY_MS,
} from "../protocol/limits.ts";
import { type AskHealth, healthOf, isItself } from "./probe.ts";
import type { Registry, Remote } from "./registry.ts";

export type ReturnsOptions = {
  readonly registry: Pick<Registry, "takeBack">;
  readonly ask: AskHealth;
  /** Milliseconds, never going back; that of the process unless another one is given. */
  readonly clock?: () => number;
};

type Absence = { readonly remote: Remote; readonly until: number; isAsked: boolean };

/**
 * Asks remotes that were removed for their silence how they are, and takes back who answers: one that was cut off, or
 * stood still, hardly longer than a health check waits may never know that it was away, and would register only with
 * its next refresh. Each is asked every RETURN_LOOK_MS for SILENT_REMOTE_MEMORY_MS; at most MAX_SILENT_REMOTES are,
 * those that fell silent last.
 */
export class Returns implements Disposable {
  readonly #registry: Pick<Registry, "takeBack">;
  readonly #ask: AskHealth;
  readonly #clock: () => number;
  /** By id, the latest last. */
  readonly #absent = new Map<string, Absence>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ registry, ask, clock = () => performance.now() }: ReturnsOptions) {
    this.#registry = registry;
    this.#ask = ask;
    this.#clock = clock;
  }

  /** It was removed because it does not answer. */
  expect(remote: Remote): void {
    this.#absent.delete(remote.id);
    for (const oldest of this.#absent.keys()) {
      if (this.#absent.size < MAX_SILENT_REMOTES) break;
      this.#absent.delete(oldest);
    }
    const until = this.#clock() + SILENT_REMOTE_MEMORY_MS;
    this.#absent.set(remote.id, { remote, until, isAsked: false });
    this.#timer ??= setInterval(() => void this.look(), RETURN_LOOK_MS).unref();
  }

  /** Resolves when all who are not being asked already have answered or did not. Never rejects. */
  async look(): Promise<void> {
    const now = this.#clock();
    for (const [id, { until }] of this.#absent) if (until <= now) this.#absent.delete(id);
    if (this.#absent.size === 0) this.#rest();
    const due = [...this.#absent.values()].filter(({ isAsked }) => !isAsked);
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
    const health = await healthOf(this.#ask, remote, RETURN_LOOK_TIMEOUT_MS);
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
