import { isLoopbackAddress } from "../../lib/net/address.ts";
import { isLoginName, shownProfile } from "../../lib/profile.ts";
import type { Secret } from "../../lib/secret.ts";
import type { Prover, RequestClaims } from "../chain.ts";
import { sameBytes } from "../same-bytes.ts";

/** Whose headers are believed: those that carry `proof`, or all that come from this machine. */
export type TrustedIdentity =
  | { readonly from: "own-proxy"; readonly proof: Secret }
  | { readonly from: "local-proxy" };

/**
 * The headers `proxy-user-*` (specification 5.4): who a reverse proxy says that the request comes from. From any peer
 * but a loopback address they say nothing (contract 5.9). Our own proxy adds a proof, new at each start, so that other
 * users of this machine cannot take its place; of another proxy none can be asked.
 */
export function byProxyIdentity(trusted: TrustedIdentity): Prover {
  const isProof = trusted.from === "own-proxy" ? sameBytes(trusted.proof.bytes()) : () => true;
  return async (request) => {
    const login = trustedLogin(request);
    if (login === undefined || !isProof(request.identityProof ?? "")) return undefined;
    // Another proxy may hand on what a client sent: groups give roles.
    const groups = trusted.from === "own-proxy" ? groupsOf(request.identity?.groups) : [];
    return { user: login, method: "proxy", groups, profile: shownProfile(request.identity ?? {}) };
  };
}

/** As http headers carry them, see proxy/forwarded-headers.ts. */
function groupsOf(text: string | undefined): readonly string[] {
  return text === undefined || text === "" ? [] : text.split(",").map(decodeURIComponent);
}

function trustedLogin({ peer, identity }: RequestClaims): string | undefined {
  if (peer === undefined || !isLoopbackAddress(peer)) return undefined;
  const login = identity?.login;
  return login !== undefined && isLoginName(login) ? login : undefined;
}
