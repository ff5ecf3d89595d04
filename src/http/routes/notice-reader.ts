// Identifies readers of notifications: each client receives each of them once (contract 7.6).
import { createHash } from "node:crypto";
import { type Principal, SERVERS_OWN } from "../../auth/principal.ts";
import type { Context } from "../route.ts";

/** A key per client: login or address, and the client's own name. An HQ has already distinguished its clients. */
export function noticeReader(
  client: string,
  { principal, address }: Pick<Context, "principal" | "address">,
): string {
  const login = principal.method === "hq" ? "hq" : (principal.tokenId ?? address);
  return createHash("sha256")
    .update(JSON.stringify([principal.user, nameOf(principal), login, client]))
    .digest("base64url");
}

/** The owner of the caller's sessions and notifications. */
export function nameOf(principal: Pick<Principal, "owner">): string {
  return principal.owner ?? SERVERS_OWN;
}
