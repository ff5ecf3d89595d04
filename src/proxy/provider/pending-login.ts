import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { Seal } from "../../lib/seal.ts";
import { PROXY_LOGIN_TIMEOUT_MS } from "../../protocol/limits.ts";

const SECRET_BYTES = 32;
const MAX_SEALED_LENGTH = 2_048;
const SEALED_AS = "pending login";

/** `state` and `nonce` must come back from the provider; `codeVerifier` is for PKCE. */
const PendingLogin = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  returnTo: z.string(),
  beganAtMs: z.number(),
});
export type PendingLogin = z.infer<typeof PendingLogin>;

/**
 * Logins in progress, kept in the browser's cookies, sealed: the server stores nothing that strangers could grow, a
 * callback is only valid in the browser that started the login, and any HQ with the same seal may take it.
 */
export class PendingLogins {
  readonly #seal: Seal;
  readonly #now: () => number;

  constructor(seal: Seal, now: () => number) {
    this.#seal = seal;
    this.#now = now;
  }

  begin(returnTo: string): PendingLogin {
    const secret = (): string => randomBytes(SECRET_BYTES).toString("base64url");
    const secrets = { state: secret(), nonce: secret(), codeVerifier: secret() };
    return { ...secrets, returnTo, beganAtMs: this.#now() };
  }

  seal(login: PendingLogin): string {
    return this.#seal.seal(SEALED_AS, JSON.stringify(login));
  }

  /** `undefined` for a foreign or expired one. Never throws. */
  open(sealed: string): PendingLogin | undefined {
    if (sealed.length > MAX_SEALED_LENGTH) return undefined;
    const login = this.#seal.openJson(SEALED_AS, sealed, PendingLogin);
    return login && this.#now() - login.beganAtMs < PROXY_LOGIN_TIMEOUT_MS ? login : undefined;
  }
}
