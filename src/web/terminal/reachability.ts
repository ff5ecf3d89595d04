// Whether the HQ can reach the session's machine, and the input typed while it could not. On a standalone server only
// the connection counts.
import { computed, effect, type ReadonlySignal, signal, untracked } from "@preact/signals";
import { isOutage } from "../machines/outage.ts";

/** Interval of checks while the HQ cannot reach the machine. The server counts requests. */
const CHECK_INTERVAL_MS = 2_000;

export type ReachabilityOptions = {
  /** The HQ no longer lists the machine. */
  readonly isMachineGone: ReadonlySignal<boolean>;
  /** Sends the machine a request; rejects with the HQ's error. */
  readonly check: () => Promise<unknown>;
  readonly onLost: () => void;
  readonly onBack: () => void;
  /** Milliseconds. */
  readonly now: () => number;
  readonly checkMs?: number;
};

export class Reachability implements Disposable {
  readonly #options: ReachabilityOptions;
  readonly #checkMs: number;
  /** A request was refused because of the machine, and nothing has arrived from it since. */
  readonly #isCut = signal(false);
  readonly #refusals = signal(0);
  /** The number of keys typed and not sent since the last contact. */
  readonly refusals: ReadonlySignal<number> = this.#refusals;
  readonly #scope = new DisposableStack();
  #isChecking = false;
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
    this.#checkMs = options.checkMs ?? CHECK_INTERVAL_MS;
    this.#scope.defer(effect(() => this.#checkWhileCut()));
    let wasUnreachable = this.isUnreachable.peek();
    const changed = (): void => {
      const isUnreachable = this.isUnreachable.value;
      if (isUnreachable === wasUnreachable) return;
      wasUnreachable = isUnreachable;
      untracked(isUnreachable ? options.onLost : options.onBack);
    };
    this.#scope.defer(effect(changed));
  }

  readonly isUnreachable: ReadonlySignal<boolean> = computed(
    () => this.#options.isMachineGone.value || this.#isCut.value,
  );

  /** Input at this moment would be delayed in transit and reach the program at an unknown time. */
  get isMachineGone(): boolean {
    return this.#options.isMachineGone.peek();
  }

  refuse(): void {
    this.#refusals.value += 1;
  }

  /** Input from now on should arrive. */
  settle(): void {
    if (!this.isUnreachable.peek()) this.#refusals.value = 0;
  }

  /** The machine answered a request. */
  reached(): void {
    if (this.#isCut.peek()) this.#isCut.value = false;
  }

  /** Reports output. Soon after a refusal it may be old, and proves nothing about the machine. */
  heard(): void {
    if (!this.#isCut.peek()) return;
    if (this.#options.now() - this.#refusedAt >= this.#checkMs) this.reached();
  }

  /** Returns whether the error means that the machine is unreachable. */
  failed(error: unknown): boolean {
    if (!isOutage(error)) return false;
    this.#refusedAt = this.#options.now();
    this.#isCut.value = true;
    return true;
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  #checkWhileCut(): (() => void) | undefined {
    if (!this.#isCut.value) return undefined;
    // An event will report its return.
    if (this.#options.isMachineGone.value) {
      this.#isCut.value = false;
      return undefined;
    }
    const timer = setInterval(() => void this.#check(), this.#checkMs);
    return () => clearInterval(timer);
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      await this.#options.check();
      this.reached();
    } catch {
      // Not reachable yet.
    }
    this.#isChecking = false;
  }
}
