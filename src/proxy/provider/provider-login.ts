import { Backoff } from "../../lib/async/backoff.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  PROVIDER_CONFIRM_MS,
  PROXY_LOGIN_LIFETIME_MS,
  RETRY_FIRST_MS,
  RETRY_MAX_MS,
} from "../../protocol/limits.ts";
import type { ProxyUser } from "../proxy-user.ts";
import type { ProviderAnswer } from "./provider-answer.ts";

export type ProviderLoginParts = {
  readonly answer: ProviderAnswer;
  /**
   * Asks the provider whether the login still stands. `login_refused`: it does not; `provider_unreachable`: it does not
   * say.
   */
  readonly renew: (last: ProviderAnswer) => Promise<ProviderAnswer>;
  /** Milliseconds, never going back. */
  readonly now: () => number;
  readonly random: () => number;
  /** PROXY_LOGIN_LIFETIME_MS, unless a test has less time. */
  readonly lifetimeMs?: number;
};

/** How much of the time that an answer is good for passes before it is asked for anew. */
const EARLY = 0.8;

/**
 * One login at a provider. It ends by a logout, when the provider refuses to renew it, when the provider could not be
 * asked until its last answer was not good any more, and after PROXY_LOGIN_LIFETIME_MS. While it is used (by requests,
 * or by something that is open) it is renewed in time; one that nobody uses is renewed when it is used again. Where the
 * provider gave no refresh token it cannot be asked, and its word stands. A renewal may change the groups of the user:
 * what is open is closed then.
 */
export class ProviderLogin implements Disposable {
  readonly #parts: ProviderLoginParts;
  /** What is open by this login. */
  readonly #open = new Emitter<void>();
  readonly #ended: () => void;
  readonly #backoff: Backoff;
  readonly #endTimer: NodeJS.Timeout;
  #renewTimer: NodeJS.Timeout | undefined;
  #renewal: Promise<void> | undefined;
  #answer: ProviderAnswer;
  #answeredAt: number;
  #dueAt = 0;
  #isUsed = true;
  #isOver = false;

  /** `ended` is called once, when it is over. */
  constructor(parts: ProviderLoginParts, ended: () => void) {
    this.#parts = parts;
    this.#ended = ended;
    this.#answer = parts.answer;
    this.#answeredAt = parts.now();
    const { random, lifetimeMs = PROXY_LOGIN_LIFETIME_MS } = parts;
    this.#backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random });
    this.#endTimer = setTimeout(() => this[Symbol.dispose](), lifetimeMs).unref();
    this.#renewAfter(this.#dueAfterMs);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** As the provider named them last. */
  get user(): ProxyUser {
    return this.#answer.user;
  }

  get idToken(): string | undefined {
    return this.#answer.idToken;
  }

  /** To be called with each request. Rejects with `unauthorized` when the login turns out to be over. */
  async use(): Promise<void> {
    this.#isUsed = true;
    if (!this.#isOver && !this.#isGood) await this.#renew();
    else if (!this.#isOver && this.#parts.now() >= this.#dueAt) void this.#renew();
    if (this.#isOver) throw new ServiceError("unauthorized", "your login is over: log in again");
  }

  /** For something that is open for as long as the login lasts, and closed by `over`; at once where it is over. */
  whenOver(over: () => void): Disposable {
    if (this.#isOver) over();
    return this.#open.on(over);
  }

  /** Ends it: a logout. */
  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#endTimer);
    clearTimeout(this.#renewTimer);
    this.#ended();
    this.#open.emit();
  }

  get #canAsk(): boolean {
    return this.#answer.refreshToken !== undefined;
  }

  get #dueAfterMs(): number {
    return Math.min(this.#answer.validForMs * EARLY, PROVIDER_CONFIRM_MS);
  }

  /** Whether the provider still stands by what it said last. */
  get #isGood(): boolean {
    return !this.#canAsk || this.#parts.now() - this.#answeredAt < this.#answer.validForMs;
  }

  #renewAfter(ms: number): void {
    this.#dueAt = this.#canAsk ? this.#parts.now() + ms : Number.POSITIVE_INFINITY;
    if (!this.#canAsk || this.#isOver) return;
    clearTimeout(this.#renewTimer);
    this.#renewTimer = setTimeout(() => {
      if (this.#isUsed || this.#open.size > 0) void this.#renew();
    }, ms).unref();
  }

  /** One question at a time. Never rejects. */
  #renew(): Promise<void> {
    this.#renewal ??= this.#ask().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #ask(): Promise<void> {
    const askedAt = this.#parts.now();
    try {
      const before = this.#answer.user;
      this.#answer = await this.#parts.renew(this.#answer);
      this.#answeredAt = askedAt;
      this.#isUsed = false;
      this.#backoff.reset();
      this.#renewAfter(this.#dueAfterMs);
      // What is open has the rights of the groups before; it comes back with those of now.
      if (!hasSameGroups(before, this.user)) this.#open.emit();
    } catch (error) {
      const isRefused = !(error instanceof ServiceError) || error.code !== "provider_unreachable";
      if (isRefused || !this.#isGood) this[Symbol.dispose]();
      else this.#renewAfter(this.#backoff.next());
    }
  }
}

function hasSameGroups(one: ProxyUser, other: ProxyUser): boolean {
  const groupsOf = ({ groups = [] }: ProxyUser): ReadonlySet<string> => new Set(groups);
  return groupsOf(one).symmetricDifference(groupsOf(other)).size === 0;
}
