// Whether the machine of a session can be reached through the HQ, and what was typed while it could not. On a server of its
// own there is nothing but the connection.
import { computed, effect, type ReadonlySignal, signal, untracked } from "@preact/signals";
import { isOutage } from "../machines/outage.ts";

/** So often an HQ that could not reach the machine is asked again. Requests are counted by the server. */
const CHECK_INTERVAL_MS = 2_000;

export type ReachabilityOptions = {
  /** The HQ does not count the machine among its own any more. */
  readonly isMachineGone: ReadonlySignal<boolean>;
  /** Asks the machine for something; rejects with what the HQ says. */
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
  /** A request was refused because of the machine, and nothing came from it since. */
  readonly #isCut = signal(false);
  readonly #refusals = signal(0);
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

  /** Input at this moment would be kept on its way and reach the program who knows when. */
  get isMachineGone(): boolean {
    return this.#options.isMachineGone.peek();
  }

  /** Counts what was typed and not sent since there was contact. */
  get refusals(): ReadonlySignal<number> {
    return this.#refusals;
  }

  refuse(): void {
    this.#refusals.value += 1;
  }

  /** What is typed from now on arrives, as far as anybody knows. */
  settle(): void {
    if (!this.isUnreachable.peek()) this.#refusals.value = 0;
  }

  /** The machine was asked for something, and answered. */
  reached(): void {
    if (this.#isCut.peek()) this.#isCut.value = false;
  }

  /** Output came. Soon after a refusal it may have been on its way for long, and says nothing of the machine. */
  heard(): void {
    if (!this.#isCut.peek()) return;
    if (this.#options.now() - this.#refusedAt >= this.#checkMs) this.reached();
  }

  /** Returns whether the error says that the machine cannot be reached. */
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
    // Its return will be told.
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
      // Not yet.
    }
    this.#isChecking = false;
  }
}
