// Warns of a --trusted-proxy that is believed too much: a range in which programs of sessions have their addresses, too.
import type { RequestAuditHook } from "../../http/audit-hook.ts";
import { inRanges } from "../../http/client-address.ts";
import { isLoopbackAddress } from "../../lib/net/address.ts";
import type { Log } from "../../log.ts";

const REMEDY =
  "whoever types into a session there can forge its address: name the proxies alone with --trusted-proxy";

/**
 * Warns at once where the ranges hold an address of this machine, and, once, when a remote registers from one of them.
 * Loopback is left out: a proxy on this very machine has no other address.
 */
export function warnOfTrustedRange(parts: {
  readonly ranges: readonly { readonly address: string; readonly prefix: number }[];
  /** Of this machine, or of this pod. */
  readonly ownAddresses: readonly string[];
  readonly log: Pick<Log, "warn">;
}): RequestAuditHook {
  const { ranges, ownAddresses, log } = parts;
  const isTrusted = inRanges(ranges);
  const own = ownAddresses.find((address) => !isLoopbackAddress(address) && isTrusted(address));
  if (own !== undefined) log.warn({ address: own }, `trusted proxies include this machine: ${REMEDY}`);
  let isTold = false;
  return ({ endpoint, address, outcome }) => {
    const isRegistered = endpoint === "registerRemote" && "answer" in outcome;
    if (isTold || !isRegistered || address === undefined || !isTrusted(address)) return;
    isTold = true;
    log.warn({ address }, `trusted proxies include a remote: ${REMEDY}`);
  };
}
