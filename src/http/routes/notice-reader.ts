// Who has read which notifications of follow mode: each client is told each of them once (contract 7.6).
import { createHash } from "node:crypto";
import { type Principal, SERVERS_OWN } from "../../auth/principal.ts";
import type { Context } from "../route.ts";

/**
 * One text for each client: by its login, else by its address, and by what it calls itself. An HQ has told those who
 * read through it apart already, whichever of its replicas they ask.
 */
export function noticeReader(
  client: string,
  { principal, address }: Pick<Context, "principal" | "address">,
): string {
  const login = principal?.method === "hq" ? "hq" : (principal?.tokenId ?? address);
  return createHash("sha256")
    .update(JSON.stringify([principal?.user, nameOf(principal), login, client]))
    .digest("base64url");
}

/** Whose sessions, and so notifications, somebody's are. */
export function nameOf(principal: Principal | undefined): string {
  return principal?.owner ?? SERVERS_OWN;
}
