import { isLoopbackAddress, isLoopbackName } from "../lib/net/address.ts";
import { parseHost } from "../lib/net/origin.ts";
import type { Secret } from "../lib/secret.ts";
import type { Prover } from "./chain.ts";
import { sameBytes } from "./same-bytes.ts";

/**
 * `--allow-local-bypass`: a request from a loopback address, under a loopback name, with no sign of a proxy on the way
 * and no `proxy-user-*` header, is the server's own user (contract 5.10). With `token` its header `X-Ttyhq-Local` must
 * be that; else this way says nothing, as about every other request.
 */
export function byLocalBypass({
  serverUser,
  token,
}: {
  readonly serverUser: string;
  readonly token: Secret | undefined;
}): Prover {
  const isToken = token && sameBytes(token.bytes());
  return async ({ peer, host, isForwarded, identity, localToken }) => {
    const name = parseHost(host ?? "")?.name;
    const isFromHere = peer !== undefined && isLoopbackAddress(peer);
    if (!isFromHere || name === undefined || !isLoopbackName(name)) return undefined;
    if (isForwarded || identity !== undefined) return undefined;
    if (isToken !== undefined && !isToken(localToken ?? "")) return undefined;
    return { user: serverUser, method: "local" };
  };
}
