import { randomBytes } from "node:crypto";
import { z } from "zod";
import { Seal } from "../../lib/seal.ts";
import { Secret } from "../../lib/secret.ts";
import { PROXY_LOGIN_TIMEOUT_MS } from "../../protocol/limits.ts";

const ID_BYTES = 6;
const SECRET_BYTES = 32;
const MAX_SEALED_LENGTH = 2_048;
const SEALED_AS = "begun login";
const STATE = /^([A-Za-z0-9_-]{8})\.[A-Za-z0-9_-]{43}$/;

/** `state` and `nonce` must come back from the provider; `codeVerifier` is for PKCE. */
const BegunLogin = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  returnTo: z.string(),
  beganAtMs: z.number(),
});
export type BegunLogin = z.infer<typeof BegunLogin>;

/**
 * Logins in progress, kept in the browser's cookies, sealed with a key of this start: the server
 * stores nothing that strangers could grow, and a callback is only valid in the browser that started the login.
 */
export class BegunLogins {
  readonly #seal = new Seal(new Secret(randomBytes(SECRET_BYTES)));
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  begin(returnTo: string): BegunLogin {
    const secret = (): string => randomBytes(SECRET_BYTES).toString("base64url");
    const id = randomBytes(ID_BYTES).toString("base64url");
    return {
      state: `${id}.${secret()}`,
      nonce: secret(),
      codeVerifier: secret(),
      returnTo,
      beganAtMs: this.#now(),
    };
  }

  seal(login: BegunLogin): string {
    return this.#seal.seal(SEALED_AS, JSON.stringify(login));
  }

  /** `undefined` for a foreign or expired one. Never throws. */
  open(sealed: string): BegunLogin | undefined {
    const text = sealed.length > MAX_SEALED_LENGTH ? undefined : this.#seal.open(SEALED_AS, sealed);
    if (text === undefined) return undefined;
    const login = BegunLogin.parse(JSON.parse(text));
    return this.#now() - login.beganAtMs < PROXY_LOGIN_TIMEOUT_MS ? login : undefined;
  }
}

/** The part of `state` that names its cookie, so that two windows can log in at once. */
export function begunId(state: string | undefined): string | undefined {
  return STATE.exec(state ?? "")?.[1];
}
