import type { Secret } from "../lib/secret.ts";
import { proofOf } from "./authorization.ts";
import type { Authenticator } from "./chain.ts";
import { sameBytes } from "./same-bytes.ts";

/**
 * On a remote: the bearer token that it gave its HQ at this start (specification 5.5) is the HQ, which acts for the
 * server's user. Says nothing about any other header, so that it can be asked first, in every mode.
 */
export function byMachineToken(token: Secret, serverUser: string): Authenticator {
  const isToken = sameBytes(token.bytes());
  return async ({ authorization }) => {
    const proof = proofOf("bearer", authorization);
    return proof !== undefined && isToken(proof) ? { user: serverUser, method: "hq" } : undefined;
  };
}
