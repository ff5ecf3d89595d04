import type { SignalName } from "../protocol/session.ts";

/** Who is told what a client did to sessions, or with an error what it could not do. Must not throw. */
export type Witness = {
  subscribed(sessionId: string, error?: unknown): void;
  /** Told again while typing goes on, every 30 s. */
  typed(sessionId: string, error?: unknown): void;
  signalled(sessionId: string, signal: SignalName, error?: unknown): void;
};

const TYPING_MS = 30_000;
/** Sessions that one client types into at a time; over that all are told of anew. */
const MAX_TYPED_INTO = 2_000;

/** What one client does, told when it is known how it went. Most keys cost one look into a map. */
export class Watch {
  readonly #witness: Witness;
  readonly #now: () => number;
  /** When typing was told of last, by session. */
  readonly #typedAtMs = new Map<string, number>();

  /** `now` in milliseconds, never going back. */
  constructor(witness: Witness, now: () => number) {
    this.#witness = witness;
    this.#now = now;
  }

  subscribing(sessionId: string, work: Promise<unknown>): void {
    tellOf(work, (error) => this.#witness.subscribed(sessionId, error));
  }

  typing(sessionId: string, work: Promise<unknown>): void {
    const now = this.#now();
    if (now - (this.#typedAtMs.get(sessionId) ?? Number.NEGATIVE_INFINITY) < TYPING_MS) return;
    tellOf(work, (error) => {
      if (this.#typedAtMs.size >= MAX_TYPED_INTO) this.#typedAtMs.clear();
      if (error === undefined) this.#typedAtMs.set(sessionId, now);
      this.#witness.typed(sessionId, error);
    });
  }

  signalling(sessionId: string, signal: SignalName, work: Promise<unknown>): void {
    tellOf(work, (error) => this.#witness.signalled(sessionId, signal, error));
  }
}

function tellOf(work: Promise<unknown>, tell: (error?: unknown) => void): void {
  void work.then(() => tell(), tell);
}
