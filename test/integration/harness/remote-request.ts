import { targetOf } from "../../../packages/testing/src/access.ts";
import type { ServerClient } from "../../../packages/testing/src/server-client.ts";
import { createSender } from "../../../src/remote/send.ts";
import { PATIENCE_MS } from "./patience.ts";

/** Posts to a remote through its HQ; `path` begins with `api/`. Returns the status. */
export async function postToRemote(
  client: ServerClient,
  name: string,
  path: string,
  body: object,
): Promise<number> {
  using sender = createSender(targetOf(client.access));
  const answer = await sender.send({
    ...{ method: "POST", path: `/api/remotes/${name}/proxy/${path}`, body: JSON.stringify(body) },
    headers: { "content-type": "application/json" },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  for await (const _ of answer.body);
  return answer.status;
}
