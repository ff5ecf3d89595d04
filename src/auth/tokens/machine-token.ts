import type { Secret } from "../../lib/secret.ts";
import type { Authenticator } from "../chain.ts";
import { ALL, OWN } from "../roles.ts";
import { sameBytes } from "../same-bytes.ts";
import type { Users } from "../users.ts";
import { proofOf } from "./authorization.ts";

/**
 * On a remote: the bearer token that it gave its HQ at this start (specification 5.5) is the HQ, which acts for the
 * server's user, or for the one of its own users that it names: that one is never the server's own user, whatever the name.
 * Says nothing about any other header, so that it can be asked first, in every mode.
 */
export function byMachineToken(
  token: Secret,
  { serverUser, users }: { readonly serverUser: string; readonly users: Pick<Users, "accountOf"> },
): Authenticator {
  const isToken = sameBytes(token.bytes());
  return async ({ authorization, onBehalfOf }) => {
    const proof = proofOf("bearer", authorization);
    if (proof === undefined || !isToken(proof)) return undefined;
    if (onBehalfOf === undefined) return { user: serverUser, method: "hq", rights: ALL };
    const account = users.accountOf(onBehalfOf);
    return { user: onBehalfOf, method: "hq", owner: onBehalfOf, account, rights: OWN };
  };
}
