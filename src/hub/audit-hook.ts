import type { SignalName } from "../protocol/schemas/session.ts";

/** Receives each action of a client on sessions; `error` is set when the action failed. Must not throw. */
export type AuditHook = {
  subscribed(sessionId: string, error?: unknown): void;
  /** Called again every 30 s while typing goes on. */
  typed(sessionId: string, error?: unknown): void;
  signalled(sessionId: string, signal: SignalName, error?: unknown): void;
};

const TYPING_MS = 30_000;
/** Sessions remembered for one client. Over that, all are reported anew. */
const MAX_TYPED_INTO = 2_000;

/** Calls the hook of one client when the outcome of an action is known; typing at most every 30 s for each session. */
export class ThrottledAuditHook {
  readonly #hook: AuditHook;
  readonly #now: () => number;
  /** When typing was last reported, by session. */
  readonly #typedAtMs = new Map<string, number>();

  /** `now` in milliseconds, never going back. */
  constructor(auditHook: AuditHook, now: () => number) {
    this.#hook = auditHook;
    this.#now = now;
  }

  subscribing(sessionId: string, work: Promise<unknown>): void {
    report(work, (error) => this.#hook.subscribed(sessionId, error));
  }

  typing(sessionId: string, work: Promise<unknown>): void {
    const now = this.#now();
    if (now - (this.#typedAtMs.get(sessionId) ?? Number.NEGATIVE_INFINITY) < TYPING_MS) return;
    report(work, (error) => {
      if (this.#typedAtMs.size >= MAX_TYPED_INTO) this.#typedAtMs.clear();
      if (error === undefined) this.#typedAtMs.set(sessionId, now);
      this.#hook.typed(sessionId, error);
    });
  }

  signalling(sessionId: string, signal: SignalName, work: Promise<unknown>): void {
    report(work, (error) => this.#hook.signalled(sessionId, signal, error));
  }
}

function report(work: Promise<unknown>, tell: (error?: unknown) => void): void {
  void work.then(() => tell(), tell);
}
