// Pods and containers that die while they are in use.
import { expect, test } from "vitest";
import { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { answers } from "../cluster/shell.ts";
import { CHANGE_TIMEOUT_MS, isReady } from "./kubectl.ts";
import { stagedCluster } from "./staged-cluster.ts";
import { StallWatch } from "./stall-watch.ts";
import { SteadyOracle } from "./steady-oracle.ts";

const STREAM_BYTES = 4_000_000;
const BEGUN_BYTES = 50_000;
const LIMITS = { timeoutMs: 120_000 };
const REMOTE = "ttyhq-remote-0";
const OTHER = "ttyhq-remote-1";
const CRASHES = 3;
/** A wait for this deadline instead of the sessions fails first. */
const DRAIN_SECONDS = CHANGE_TIMEOUT_MS / 1000 + 60;

const stage = stagedCluster({
  remotes: 2,
  remoteSettings: [`DRAIN_SECONDS=${DRAIN_SECONDS}`],
  patches: [
    {
      target: { kind: "StatefulSet", name: "ttyhq-remote" },
      patch: JSON.stringify([
        {
          op: "replace",
          path: "/spec/template/spec/terminationGracePeriodSeconds",
          value: DRAIN_SECONDS + 50,
        },
      ]),
    },
  ],
});

/** The server's current process. */
function serverPid(): Promise<string> {
  return stage.cluster.kubectl.sh(REMOTE, "server", 'pgrep -of "^node "');
}

test("the server of a remote is killed three times: it is back in place at once, sessions go on, and no byte is lost or comes twice", async () => {
  const { client, kubectl } = stage.cluster;
  const remoteId = await stage.cluster.remoteId(REMOTE);
  const before = await stage.cluster.remote(REMOTE);
  const oracle = new SteadyOracle({ bytes: STREAM_BYTES });
  const checker = new OracleChecker();
  const watch = new StallWatch(checker);
  const session = { remoteId, command: [...oracle.command] };
  using viewer = await client.run(session, { checker: watch, hasScreen: false });
  using shell = await client.run({ remoteId, command: ["sh"] });
  await answers(shell, 42);
  await viewer.reaches(BEGUN_BYTES, LIMITS);

  const beganMs = performance.now();
  for (let crash = 1; crash <= CRASHES; crash += 1) {
    const pid = await serverPid();
    await kubectl.signal(REMOTE, "server", "KILL");
    await stage.cluster.eventually(
      async () => (await serverPid().catch(() => pid)) !== pid || undefined,
      "another process of the server",
    );
    await viewer.reaches((viewer.offset ?? 0) + BEGUN_BYTES, LIMITS);
  }
  console.log(
    `${CRASHES} crashes of a server within ${Math.round(performance.now() - beganMs)} ms: its viewer waited ` +
      `${Math.round(watch.worst.ms)} ms at most`,
  );
  const after = await stage.cluster.eventually(async () => {
    const pod = await stage.cluster.remote(REMOTE);
    return isReady(pod) ? pod : undefined;
  }, "a pod that is ready");
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(after.status.containerStatuses.map(({ restartCount }) => restartCount)).toEqual(
    before.status.containerStatuses.map(({ restartCount }) => restartCount),
  );
  await answers(shell, 144);
  await shell.type("exit\r");
  await shell.ended(LIMITS);
  await oracle.finish(client, remoteId);
  expect(await viewer.ended(LIMITS)).toMatchObject({ exitCode: 0 });
  expect(checker.verify()).toMatchObject({ isComplete: true, lost: 0, doubled: 0, skipped: 0 });
  expect(await stage.cluster.remoteId(REMOTE)).toBe(remoteId);
});

test("a pod of a remote is deleted: it starts no new session, ends when its last one has, and the next one is the same remote", async () => {
  const { client, kubectl } = stage.cluster;
  const remoteId = await stage.cluster.remoteId(REMOTE);
  const before = await stage.cluster.remote(REMOTE);
  using shell = await client.run({ remoteId, command: ["sh"] });
  await answers(shell, 42);

  await kubectl.does("delete", "pod", REMOTE, "--wait=false");
  await stage.cluster.eventually(async () => {
    const created = await client.api.create({ remoteId, command: ["true"] }).catch((error) => error);
    return created.code === "cordoned" || undefined;
  }, "the refusal of a session");
  // If the HQ may choose.
  const elsewhere = await client.api.create({ labels: {}, command: ["sh"] });
  expect(elsewhere).toMatchObject({ source: OTHER });
  await answers(shell, 144);
  await shell.type("exit 7\r");
  expect(await shell.ended(LIMITS)).toMatchObject({ exitCode: 7 });
  await stage.cluster.replaced(before);
  expect(await stage.cluster.remoteId(REMOTE)).toBe(remoteId);
  const { sessionId } = shell;
  const record = await stage.cluster.eventually(() => client.api.get(sessionId), "the record of the session");
  expect(record).toMatchObject({ status: "exited", exitReason: "exit", source: REMOTE });
  const stored = await client.api.bytes(endpoints.sessionOutput, { params: { id: sessionId } });
  expect(Buffer.compare(stored, shell.bytes)).toBe(0);
  using next = await stage.cluster.eventually(
    () => client.run({ remoteId, command: ["sh"] }),
    "a new session",
  );
  await answers(next, 144);
});

test("the pod of the HQ is deleted: sessions continue, and their users reconnect by themselves", async () => {
  const { client, kubectl } = stage.cluster;
  const hq = await stage.cluster.hq();
  using shell = await client.run({ remoteId: await stage.cluster.remoteId(REMOTE), command: ["sh"] });
  await answers(shell, 42);
  const { pid } = await client.api.get(shell.sessionId);
  await kubectl.does("delete", "pod", hq.metadata.name, "--wait=false");
  await shell.until(() => shell.reconnects > 0 || undefined, "the reconnect", LIMITS);
  await shell.connected(LIMITS);
  await answers(shell, 144);
  expect(await client.api.get(shell.sessionId)).toMatchObject({ pid, status: "running" });
  expect(shell.resyncs).toBe(0);
  expect((await stage.cluster.hq()).metadata.uid).not.toBe(hq.metadata.uid);
});
