import { createHash, randomBytes } from "node:crypto";
import { MAX_PROXY_LOGINS, MAX_PROXY_LOGINS_OF_USER } from "../../protocol/limits.ts";
import type { ProviderAnswer } from "./provider-answer.ts";
import { ProviderLogin, type ProviderLoginParts } from "./provider-login.ts";

const COOKIE_BYTES = 32;
const COOKIE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Who is logged in at the provider, by the cookie that the browser has: 256 random bits, of which a hash is kept. At
 * most MAX_PROXY_LOGINS, and MAX_PROXY_LOGINS_OF_USER of each user: over that the oldest is over.
 */
export class ProviderLogins implements Disposable {
  readonly #logins = new Map<string, ProviderLogin>();
  readonly #parts: Omit<ProviderLoginParts, "answer">;

  constructor(parts: Omit<ProviderLoginParts, "answer">) {
    this.#parts = parts;
  }

  /** The value of the cookie. */
  begin(answer: ProviderAnswer): string {
    this.#makeRoom(answer.user.login);
    const cookie = randomBytes(COOKIE_BYTES).toString("base64url");
    const key = hash(cookie);
    const login = new ProviderLogin({ ...this.#parts, answer }, () => void this.#logins.delete(key));
    this.#logins.set(key, login);
    return cookie;
  }

  /** Never throws, whatever the cookie is. */
  find(cookie: string | undefined): ProviderLogin | undefined {
    return cookie !== undefined && COOKIE.test(cookie) ? this.#logins.get(hash(cookie)) : undefined;
  }

  get size(): number {
    return this.#logins.size;
  }

  /** Ends all of them. */
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

function hash(cookie: string): string {
  return createHash("sha256").update(cookie).digest("base64url");
}
