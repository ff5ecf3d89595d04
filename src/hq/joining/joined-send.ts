import { singleFlight } from "../../lib/async/single-flight.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { collectBytes } from "../../lib/data/collect.ts";
import type { Secret } from "../../lib/secret.ts";
import { createCaller } from "../../protocol/client/caller.ts";
import type { ClientResponse, Send } from "../../protocol/client/send.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { MAX_ERROR_BODY_BYTES } from "../../protocol/limits.ts";
import { joinRequest, type RemoteKey } from "./remote-key.ts";

export type JoinedSendOptions = {
  readonly send: Send;
  readonly key: RemoteKey;
  /** Required until the HQ knows the key. */
  readonly joinToken: Secret | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/** Fraction of the lifetime after which a credential is renewed; the rest leaves time for retries. */
const RENEWAL = 0.5;
/** Statuses of an HQ that rejects the credential: its secret has changed, or the key was revoked. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

export type JoinedSender = {
  readonly send: Send;
  /** The header that proves this remote. */
  readonly authorization: () => Promise<string>;
};

/**
 * Sends requests of a remote to its HQ with a credential for its key, which it obtains and renews. `/api/health` needs no
 * credential. Rejects with the HQ's error if joining fails.
 */
export function joinedSender({ send, key, joinToken, now }: JoinedSendOptions): JoinedSender {
  const caller = createCaller(send);
  let credential: { readonly token: string; readonly renewAtMs: number } | undefined;

  const join = singleFlight(async (): Promise<string> => {
    const { instanceId: hqId } = await caller.call(endpoints.health);
    const request = joinRequest(key, { hqId, timestamp: now() });
    const proof = joinToken === undefined ? {} : { joinToken: new TextDecoder().decode(joinToken.bytes()) };
    const joined = await caller.call(endpoints.joinRemote, { body: { ...request, ...proof } });
    credential = { token: joined.token, renewAtMs: performance.now() + joined.expiresIn * 1000 * RENEWAL };
    return joined.token;
  });
  const authorization = async (): Promise<string> => {
    const isFresh = credential !== undefined && performance.now() < credential.renewAtMs;
    return `Bearer ${isFresh ? credential?.token : await join()}`;
  };
  const joined: Send = async (request) => {
    if (request.path === endpoints.health.path) return await send(request);
    const ask = async (): Promise<ClientResponse> =>
      await send({ ...request, headers: { ...request.headers, authorization: await authorization() } });
    const answer = await ask();
    if (!REFUSALS.has(answer.status)) return answer;
    await succeeded(collectBytes(answer.body, MAX_ERROR_BODY_BYTES));
    credential = undefined;
    return await ask();
  };
  return { send: joined, authorization };
}
