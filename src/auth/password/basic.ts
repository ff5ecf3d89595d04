// `Authorization: Basic` with the credentials of an HQ (specification 5.5, RFC 7617), of its remotes and of clients.
import type { Tally } from "../../lib/data/tally.ts";
import type { Credentials } from "../../lib/secret.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { malformed, proofOf, type Way } from "../chain.ts";
import { ALL } from "../roles.ts";
import type { LoginAttempts } from "./attempts.ts";
import { pairMatch } from "./password-login.ts";

/** Bytes, because a password need not be UTF-8. */
type BasicPair = { readonly username: Uint8Array; readonly password: Uint8Array };

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const COLON = 0x3a;

/** ServiceError `unauthorized` for a wrong pair or a malformed header, `rate_limited` after too many. */
export function byBasic(parts: {
  readonly credentials: Credentials;
  readonly attempts: Pick<LoginAttempts, "begin">;
  /** Counts wrong pairs only: a correct one comes with each request. */
  readonly logins: Pick<Tally<"method" | "result">, "add">;
  readonly log: Pick<Log, "warn">;
}): Way {
  const { credentials, attempts, logins, log } = parts;
  const { username: user } = credentials;
  const matches = pairMatch(credentials);
  return async ({ authorization, address }) => {
    const pair = basicPair(authorization);
    if (pair === undefined) return undefined;
    // The name as sent, so that known and unknown users are limited alike.
    const claimant = { address, user: new TextDecoder().decode(pair.username) };
    const attempt = attempts.begin(claimant);
    if (matches(pair.username, pair.password)) {
      attempt.succeed();
      return { user, method: "basic", rights: ALL };
    }
    logins.add("basic", "refused");
    log.warn({ method: "basic", address }, "login refused");
    const wrong = new ServiceError("unauthorized", "wrong user name or password");
    attempt.fail(wrong);
    throw wrong;
  };
}

/** `undefined` without an `Authorization: Basic` header; ServiceError `unauthorized` for a malformed one. */
export function basicPair(header: string | undefined): BasicPair | undefined {
  const proof = proofOf("basic", header);
  if (proof === undefined) return undefined;
  const bytes = BASE64.test(proof) ? new Uint8Array(Buffer.from(proof, "base64")) : new Uint8Array();
  const colon = bytes.indexOf(COLON);
  if (colon < 0) throw malformed();
  return { username: bytes.subarray(0, colon), password: bytes.subarray(colon + 1) };
}
