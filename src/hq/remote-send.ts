// The way from an HQ to one of its remotes: over http(s), with the bearer token that the remote registered.
import { createCaller } from "../protocol/client/caller.ts";
import { createSender } from "../remote/send.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import { anyHealth } from "./health/any-health.ts";
import type { AskHealth } from "./health/probe.ts";
import type { Remote } from "./registry/registry.ts";

/** Where a remote is and what opens it; `ca` is trusted beside the roots that Node knows. */
export function remoteTarget(
  { url, token }: Pick<Remote, "url" | "token">,
  ca: Uint8Array | undefined,
): UplinkTarget {
  return { url, headers: { authorization: `Bearer ${token}` }, ...(ca === undefined ? {} : { ca }) };
}

/** Asks over a connection of its own, which also tells whether one can be made. */
export function askHealth(ca: Uint8Array | undefined): AskHealth {
  return async (remote, signal) => {
    using sender = createSender(remoteTarget(remote, ca));
    signal.addEventListener("abort", () => sender[Symbol.dispose](), { once: true });
    return await createCaller(sender.send).call(anyHealth);
  };
}
