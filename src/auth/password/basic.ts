// Authorization: Basic with the credentials of an HQ (specification 5.5, RFC 7617): its remotes, and clients that want it.

import type { Tally } from "../../lib/data/tally.ts";
import type { Credentials } from "../../lib/secret.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Authenticator } from "../chain.ts";
import { malformed, proofOf } from "../chain.ts";
import { ALL } from "../roles.ts";
import type { LoginAttempts } from "./attempts.ts";
import { pairMatch } from "./password-login.ts";

/** As bytes: a password need not be UTF-8. */
export type BasicPair = { readonly username: Uint8Array; readonly password: Uint8Array };

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const COLON = 0x3a;

/**
 * Whoever sends the pair is its user, everywhere. A wrong pair or a malformed header: ServiceError `unauthorized`; too
 * many wrong ones: `rate_limited`, see LoginAttempts.
 */
export function byBasic(parts: {
  readonly credentials: Credentials;
  readonly attempts: Pick<LoginAttempts, "guardNow">;
  /** Wrong pairs alone are counted: a right one comes with each request. */
  readonly logins?: Tally<"method" | "result">;
  readonly log: Pick<Log, "warn">;
}): Authenticator {
  const { credentials, attempts, logins, log } = parts;
  const { username: user } = credentials;
  const matches = pairMatch(credentials);
  return async ({ authorization, address }) => {
    const pair = basicPair(authorization);
    if (pair === undefined) return undefined;
    // The name that was sent, so that an unknown user is limited as a known one is.
    const claimant = { address, user: new TextDecoder().decode(pair.username) };
    return attempts.guardNow(claimant, () => {
      if (matches(pair.username, pair.password)) return { user, method: "basic", rights: ALL };
      logins?.add("basic", "refused");
      log.warn({ method: "basic", address }, "login refused");
      throw new ServiceError("unauthorized", "wrong user name or password");
    });
  };
}

/**
 * The pair of an `Authorization: Basic` header; `undefined` where there is no such header. One that is no base64, or
 * no name and password: ServiceError `unauthorized`.
 */
export function basicPair(header: string | undefined): BasicPair | undefined {
  const proof = proofOf("basic", header);
  if (proof === undefined) return undefined;
  const bytes = BASE64.test(proof) ? new Uint8Array(Buffer.from(proof, "base64")) : new Uint8Array();
  const colon = bytes.indexOf(COLON);
  if (colon < 0) throw malformed();
  return { username: bytes.subarray(0, colon), password: bytes.subarray(colon + 1) };
}
