import { randomBytes } from "node:crypto";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { createCaller } from "../../src/protocol/client/caller.ts";
import { endpoints } from "../../src/protocol/endpoints/endpoints.ts";
import { createSender } from "../../src/remote/send.ts";
import { RedisServer } from "../../test/integration/harness/redis-server.ts";
import type { Headquarters, Server, ServerPeer } from "../lib/peer.ts";
import type { Workshop } from "../lib/workshop.ts";
import { missingBuild, sessionsAt } from "./ttyhq.ts";
import { TtyhqProcess } from "./ttyhq-process.ts";

const JOIN_TIMEOUT_MS = 15_000;
const POLL_MS = 20;

export const ttyhqHq = peer(
  "ttyhq-hq",
  "this project through an HQ: viewers on the HQ, the sessions on its one remote",
  () => TtyhqProcess.start(["--hq"]),
);

export const ttyhqHqs = peer(
  "ttyhq-hqs",
  "two HQs that share a Redis, asked at one of them; CPU and memory of both, without the Redis",
  twoHqs,
);

/** `headquarters`: without remotes yet. */
function peer(name: string, about: string, headquarters: () => Promise<Headquarters>): ServerPeer {
  return {
    ...{ kind: "server", name, about, sharesSessions: true, keepsSessions: true, missing: missingBuild },
    start: (workshop) => start(workshop, headquarters),
    headquarters,
  };
}

async function twoHqs(): Promise<Headquarters> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await RedisServer.start());
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-bench-secret-")));
  const secret = join(folder.path, "jwt-secret");
  await writeFile(secret, randomBytes(36).toString("base64"), { mode: 0o600 });
  const role = ["--hq", "--registry-url", redis.url, "--jwt-secret-file", secret];
  const first = stack.use(await TtyhqProcess.start(role));
  const second = stack.use(await TtyhqProcess.start(role));
  const owned = stack.move();
  return {
    origin: first.origin,
    pids: [...first.pids, ...second.pids],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function start(workshop: Workshop, headquarters: () => Promise<Headquarters>): Promise<Server> {
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
    session: sessionsAt(Number(new URL(hq.origin).port), workshop, remoteId),
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
