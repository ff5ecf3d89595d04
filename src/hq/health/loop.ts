import { ServiceError } from "../../protocol/errors.ts";
import { LOOP_CHECK_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { RegisterRemote } from "../../protocol/schemas/remote.ts";
import { type AskHealth, healthOf } from "./probe.ts";

/**
 * Throws `invalid_request` for a remote whose url leads back to this HQ, or to another one: sessions would go round in
 * circles. One that does not answer soon is let pass: the probe looks after it.
 */
export async function refuseLoop(ask: AskHealth, instanceId: string, request: RegisterRemote): Promise<void> {
  const health = await healthOf(ask, request, LOOP_CHECK_TIMEOUT_MS);
  if (health === undefined) return;
  const isSelf = health.instanceId === instanceId;
  if (!isSelf && health.mode !== "hq") return;
  const issues = [{ path: "url", message: isSelf ? "leads to this HQ itself" : "leads to an HQ" }];
  throw new ServiceError(
    "invalid_request",
    `url: ${request.url} ${issues[0]?.message}: give the remote's own address with --remote-url`,
    { details: { issues } },
  );
}
