import { Backoff } from "../../lib/async/backoff.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { singleFlight } from "../../lib/async/single-flight.ts";
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
   * Asks the provider whether the login is still valid. `login_refused`: it is not; `provider_unreachable`: no
   * answer.
   */
  readonly renew: (last: ProviderAnswer) => Promise<ProviderAnswer>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly random: () => number;
  /** Default PROXY_LOGIN_LIFETIME_MS; for tests. */
  readonly lifetimeMs?: number;
};

/** The part of an answer's validity after which it is renewed. */
const EARLY = 0.8;

/**
 * A login at a provider. It ends by logout, when the provider refuses to renew it, when the last answer expires while
 * the provider is unreachable, and after PROXY_LOGIN_LIFETIME_MS. While requests or connections use it, it is renewed
 * in time, otherwise at its next use; without a refresh token it cannot be renewed and stays valid. If a renewal
 * changes the user's groups, open connections are closed.
 */
export class ProviderLogin implements Disposable {
  readonly #parts: ProviderLoginParts;
  readonly #open = new Emitter<void>();
  /** Disposed when the login ends. */
  readonly #scope = new DisposableStack();
  readonly #ended: () => void;
  readonly #backoff: Backoff;
  /** Never rejects. */
  readonly #renew = singleFlight(() => this.#ask());
  #renewTimer: NodeJS.Timeout | undefined;
  #answer: ProviderAnswer;
  #answeredAt: number;
  #dueAt = 0;
  #isUsed = true;

  /** `ended` is called once, unless the login is disposed of: it may go on elsewhere. */
  constructor(parts: ProviderLoginParts, ended: () => void) {
    this.#parts = parts;
    this.#answer = parts.answer;
    this.#answeredAt = parts.now();
    const { random, lifetimeMs = PROXY_LOGIN_LIFETIME_MS } = parts;
    this.#backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random });
    this.#ended = ended;
    const endTimer = setTimeout(() => this.#end(), lifetimeMs).unref();
    this.#scope.defer(() => this.#open.emit());
    this.#scope.defer(() => clearTimeout(this.#renewTimer));
    this.#scope.defer(() => clearTimeout(endTimer));
    this.#renewAfter(this.#dueAfterMs);
  }

  get isOver(): boolean {
    return this.#scope.disposed;
  }

  get user(): ProxyUser {
    return this.#answer.user;
  }

  get idToken(): string | undefined {
    return this.#answer.idToken;
  }

  /** Call for each request. ServiceError `unauthorized` if the login has ended. */
  async use(): Promise<void> {
    this.#isUsed = true;
    if (!this.isOver && !this.#isGood) await this.#renew();
    else if (!this.isOver && this.#parts.now() >= this.#dueAt) void this.#renew();
    if (this.isOver) throw new ServiceError("unauthorized", "your login is over: log in again");
  }

  /** For connections, which `over` closes when the login ends, at once if it has. */
  whenOver(over: () => void): Disposable {
    if (this.isOver) over();
    return this.#open.on(over);
  }

  /** Closes what is open by it. */
  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  #end(): void {
    if (this.isOver) return;
    this[Symbol.dispose]();
    this.#ended();
  }

  get #canAsk(): boolean {
    return this.#answer.refreshToken !== undefined;
  }

  get #dueAfterMs(): number {
    return Math.min(this.#answer.validForMs * EARLY, PROVIDER_CONFIRM_MS);
  }

  /** Whether the last answer is still valid. */
  get #isGood(): boolean {
    return !this.#canAsk || this.#parts.now() - this.#answeredAt < this.#answer.validForMs;
  }

  #renewAfter(ms: number): void {
    this.#dueAt = this.#canAsk ? this.#parts.now() + ms : Number.POSITIVE_INFINITY;
    if (!this.#canAsk || this.isOver) return;
    clearTimeout(this.#renewTimer);
    this.#renewTimer = setTimeout(() => {
      if (this.#isUsed || this.#open.size > 0) void this.#renew();
    }, ms).unref();
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
      // Open connections have the rights of the previous groups; they reconnect with the new ones.
      if (!hasSameGroups(before, this.user)) this.#open.emit();
    } catch (error) {
      const isRefused = !(error instanceof ServiceError) || error.code !== "provider_unreachable";
      if (isRefused || !this.#isGood) this.#end();
      else this.#renewAfter(this.#backoff.next());
    }
  }
}

function hasSameGroups(one: ProxyUser, other: ProxyUser): boolean {
  const groupsOf = ({ groups = [] }: ProxyUser): ReadonlySet<string> => new Set(groups);
  return groupsOf(one).symmetricDifference(groupsOf(other)).size === 0;
}
