import { hash, randomBytes } from "node:crypto";
import { MAX_PROXY_LOGINS, MAX_PROXY_LOGINS_OF_USER } from "../../protocol/limits.ts";
import type { ProviderAnswer } from "./provider-answer.ts";
import { ProviderLogin, type ProviderLoginParts } from "./provider-login.ts";

const COOKIE_BYTES = 32;
const COOKIE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Logins at the provider by cookie: 256 random bits, stored as a hash. Over MAX_PROXY_LOGINS, or
 * MAX_PROXY_LOGINS_OF_USER of a user, the oldest ends.
 */
export class ProviderLogins implements Disposable {
  readonly #logins = new Map<string, ProviderLogin>();
  readonly #parts: Omit<ProviderLoginParts, "answer">;

  constructor(parts: Omit<ProviderLoginParts, "answer">) {
    this.#parts = parts;
  }

  begin(answer: ProviderAnswer): string {
    this.#makeRoom(answer.user.login);
    const cookie = randomBytes(COOKIE_BYTES).toString("base64url");
    const key = hash("sha256", cookie, "base64url");
    const login = new ProviderLogin({ ...this.#parts, answer }, () => void this.#logins.delete(key));
    this.#logins.set(key, login);
    return cookie;
  }

  /** Never throws. */
  find(cookie: string | undefined): ProviderLogin | undefined {
    return cookie !== undefined && COOKIE.test(cookie)
      ? this.#logins.get(hash("sha256", cookie, "base64url"))
      : undefined;
  }

  get size(): number {
    return this.#logins.size;
  }

  [Symbol.dispose](): void {
    for (const login of [...this.#logins.values()]) login[Symbol.dispose]();
  }

  #makeRoom(user: string): void {
    const logins = [...this.#logins.values()];
    const [oldestOfUser, ...othersOfUser] = logins.filter((login) => login.user.login === user);
    if (othersOfUser.length + 1 >= MAX_PROXY_LOGINS_OF_USER) oldestOfUser?.[Symbol.dispose]();
    if (this.#logins.size >= MAX_PROXY_LOGINS) logins[0]?.[Symbol.dispose]();
  }
}
