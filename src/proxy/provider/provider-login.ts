import { z } from "zod";
import { Backoff } from "../../lib/async/backoff.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { singleFlight } from "../../lib/async/single-flight.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { PROVIDER_CONFIRM_MS, RETRY_FIRST_MS, RETRY_MAX_MS } from "../../protocol/limits.ts";
import type { ProxyUser } from "../proxy-user.ts";
import { ProviderAnswer } from "./provider-answer.ts";

/** As the records keep it. `renewals`: number of answers before this one. Times in milliseconds since 1970. */
export const KeptLogin = z.object({
  answer: ProviderAnswer,
  renewals: z.number(),
  answeredAtMs: z.number(),
  /** While an HQ asks the provider; others wait for its answer. */
  turnEndsAtMs: z.number().optional(),
});
export type KeptLogin = Readonly<z.infer<typeof KeptLogin>>;

type ProviderLoginParts = {
  readonly kept: KeptLogin;
  readonly endsAtMs: number;
  /** Asks the provider whether the login is still valid. `login_refused`: it is not; `provider_unreachable`: no answer. */
  readonly renew: (last: KeptLogin) => Promise<KeptLogin>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random: () => number;
};

/** The part of an answer's validity after which it is renewed. */
const EARLY = 0.8;

/**
 * A login at a provider. It ends by logout, when the provider refuses to renew it, when the last answer expires while
 * the provider is unreachable, and at `endsAtMs`. While requests or connections use it, it is renewed in time, otherwise
 * at its next use; without a refresh token it cannot be renewed and stays valid. If a renewal changes the user's groups,
 * open connections are closed.
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
  #kept: KeptLogin;
  #dueAtMs = 0;
  #isUsed = true;

  /** `ended` is called once, unless the login is disposed of: it may go on elsewhere. */
  constructor(parts: ProviderLoginParts, ended: () => void) {
    const { kept, endsAtMs, now, random } = parts;
    this.#parts = parts;
    this.#kept = kept;
    this.#backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random });
    this.#ended = ended;
    const endTimer = setTimeout(() => this.#end(), Math.max(0, endsAtMs - now())).unref();
    this.#scope.defer(() => this.#open.emit());
    this.#scope.defer(() => clearTimeout(this.#renewTimer));
    this.#scope.defer(() => clearTimeout(endTimer));
    this.#renewInTime();
  }

  get isOver(): boolean {
    return this.#scope.disposed;
  }

  get user(): ProxyUser {
    return this.#kept.answer.user;
  }

  get idToken(): string | undefined {
    return this.#kept.answer.idToken;
  }

  /** Call for each request. ServiceError `unauthorized` if the login has ended. */
  async use(): Promise<void> {
    this.#isUsed = true;
    if (!this.isOver && !this.#isGood) await this.#renew();
    else if (!this.isOver && this.#parts.now() >= this.#dueAtMs) void this.#renew();
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

  /** Whether the last answer is still valid. */
  get #isGood(): boolean {
    const { answer, answeredAtMs } = this.#kept;
    return answer.refreshToken === undefined || this.#parts.now() < answeredAtMs + answer.validForMs;
  }

  #renewInTime(): void {
    const { answer, answeredAtMs } = this.#kept;
    this.#renewAt(answeredAtMs + Math.min(answer.validForMs * EARLY, PROVIDER_CONFIRM_MS));
  }

  #renewAt(atMs: number): void {
    const canAsk = this.#kept.answer.refreshToken !== undefined;
    this.#dueAtMs = canAsk ? atMs : Number.POSITIVE_INFINITY;
    clearTimeout(this.#renewTimer);
    if (!canAsk || this.isOver) return;
    const renewIfUsed = (): void => {
      if (this.#isUsed || this.#open.size > 0) void this.#renew();
    };
    this.#renewTimer = setTimeout(renewIfUsed, Math.max(0, atMs - this.#parts.now())).unref();
  }

  async #ask(): Promise<void> {
    const { renew, now } = this.#parts;
    try {
      const before = new Set(this.user.groups);
      this.#kept = await renew(this.#kept);
      this.#isUsed = false;
      this.#backoff.reset();
      this.#renewInTime();
      // Open connections have the rights of the previous groups; they reconnect with the new ones.
      if (before.symmetricDifference(new Set(this.user.groups)).size > 0) this.#open.emit();
    } catch (error) {
      const isRefused = !(error instanceof ServiceError) || error.code !== "provider_unreachable";
      if (isRefused || !this.#isGood) this.#end();
      else this.#renewAt(now() + this.#backoff.next());
    }
  }
}
