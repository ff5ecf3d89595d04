import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { z } from "zod";
import { PROXY_LOGIN_TIMEOUT_MS } from "../../protocol/limits.ts";

const ID_BYTES = 6;
const SECRET_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const MAX_SEALED_LENGTH = 2_048;
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
 * Logins in progress, kept in the browser's cookies, encrypted with a key of this start (AES-256-GCM): the server
 * stores nothing that strangers could grow, and a callback is only valid in the browser that started the login.
 */
export class BegunLogins {
  readonly #key = randomBytes(32);
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
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv);
    const body = Buffer.concat([cipher.update(JSON.stringify(login), "utf8"), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), body]).toString("base64url");
  }

  /** `undefined` for a foreign or expired one. Never throws. */
  open(sealed: string): BegunLogin | undefined {
    if (sealed.length > MAX_SEALED_LENGTH) return undefined;
    const bytes = Buffer.from(sealed, "base64url");
    try {
      const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const body = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8");
      const login = BegunLogin.parse(JSON.parse(body + decipher.final("utf8")));
      const ageMs = this.#now() - login.beganAtMs;
      return ageMs < PROXY_LOGIN_TIMEOUT_MS ? login : undefined;
    } catch {
      return undefined;
    }
  }
}

/** The part of `state` that names its cookie, so that two windows can log in at once. */
export function begunId(state: string | undefined): string | undefined {
  return STATE.exec(state ?? "")?.[1];
}
