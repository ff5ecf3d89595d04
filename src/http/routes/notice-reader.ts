// Who has read which notifications of follow mode: each client is told each of them once (contract 7.6).
import { createHash } from "node:crypto";
import type { Principal } from "../../auth/principal.ts";
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
    .update(JSON.stringify([nameOf(principal), login, client]))
    .digest("base64url");
}

/** Under which name somebody's sessions are owned, and so their notifications. */
export function nameOf(principal: Principal | undefined): string {
  return principal?.owner ?? principal?.user ?? "";
}
