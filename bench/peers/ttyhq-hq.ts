import { setTimeout as sleep } from "node:timers/promises";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { createCaller } from "../../src/protocol/client/caller.ts";
import { endpoints } from "../../src/protocol/endpoints/endpoints.ts";
import { createSender } from "../../src/remote/send.ts";
import type { Server, ServerPeer } from "../lib/peer.ts";
import type { Workshop } from "../lib/workshop.ts";
import { missingBuild, sessionsAt } from "./ttyhq.ts";
import { TtyhqProcess } from "./ttyhq-process.ts";

const JOIN_TIMEOUT_MS = 15_000;
const POLL_MS = 20;

export const ttyhqHq: ServerPeer = {
  kind: "server",
  name: "ttyhq-hq",
  about: "this project through an HQ: viewers on the HQ, the sessions on its one remote",
  sharesSessions: true,
  keepsSessions: true,
  missing: missingBuild,
  start,
  headquarters,
};

/** An HQ to which nobody belongs yet. */
async function headquarters(): Promise<TtyhqProcess> {
  return await TtyhqProcess.start(["--hq"]);
}

async function start(workshop: Workshop): Promise<Server> {
  await using stack = new AsyncDisposableStack();
  const hq = stack.use(await headquarters());
  const remote = stack.use(
    await TtyhqProcess.start([
      "--hq-url",
      hq.origin,
      "--allow-insecure-hq",
      "--no-hq-auth",
      "--name",
      "bench",
    ]),
  );
  const remoteId = await withDeadline((signal) => joined(hq.origin, signal), JOIN_TIMEOUT_MS, "the remote");
  const owned = stack.move();
  return {
    pids: [...hq.pids, ...remote.pids],
    session: sessionsAt(hq.port, workshop, remoteId),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The id of the HQ's first remote, once it has one. */
async function joined(hq: string, signal: AbortSignal): Promise<string> {
  using sender = createSender({ url: hq, headers: {} });
  const { call } = createCaller(sender.send);
  for (;;) {
    const [remote] = await call(endpoints.listRemotes);
    if (remote !== undefined) return remote.id;
    await sleep(POLL_MS, undefined, { signal });
  }
}
