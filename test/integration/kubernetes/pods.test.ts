// Pods and containers that die while somebody is at work in them.
import { expect, test } from "vitest";
import { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { answers } from "../cluster/shell.ts";
import { containerOf, isReady, type Pod } from "./kubectl.ts";
import { stagedCluster } from "./staged-cluster.ts";
import { SteadyOracle } from "./steady-oracle.ts";

const STREAM_BYTES = 4_000_000;
const BEGUN_BYTES = 50_000;
const LIMITS = { timeoutMs: 120_000 };
const REMOTE = "ttyhq-remote-0";

const stage = stagedCluster({ remotes: 2 });

/** The pod, once a container of it has been started again and all of them serve. */
function restarted(name: string, container: string, before: Pod): Promise<Pod> {
  const check = async (): Promise<Pod | undefined> => {
    const pod = await stage.cluster.remote(name);
    return restartsOf(pod, container) > restartsOf(before, container) && isReady(pod) ? pod : undefined;
  };
  return stage.cluster.eventually(check, `another start of ${container} in ${name}`);
}

function restartsOf(pod: Pod, container: string): number {
  return containerOf(pod, container).restartCount;
}

test("the server container of a remote is killed: its sessions go on, and no byte is lost or comes twice", async () => {
  const { client, kubectl } = stage.cluster;
  const remoteId = await stage.cluster.remoteId(REMOTE);
  const before = await stage.cluster.remote(REMOTE);
  const oracle = new SteadyOracle({ bytes: STREAM_BYTES });
  const checker = new OracleChecker();
  using viewer = await client.run({ remoteId, command: [...oracle.command] }, { checker, hasScreen: false });
  using shell = await client.run({ remoteId, command: ["sh"] });
  await answers(shell, 42);
  await viewer.reaches(BEGUN_BYTES, LIMITS);

  await kubectl.signal(REMOTE, "server", "KILL");
  const after = await restarted(REMOTE, "server", before);
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(restartsOf(after, "session-host")).toBe(restartsOf(before, "session-host"));
  await viewer.reaches((viewer.offset ?? 0) + BEGUN_BYTES, LIMITS);
  await answers(shell, 144);
  await oracle.finish(client, remoteId);
  expect(await viewer.ended(LIMITS)).toMatchObject({ exitCode: 0 });
  expect(checker.verify()).toMatchObject({ isComplete: true, lost: 0, doubled: 0, skipped: 0 });
  expect(await stage.cluster.remoteId(REMOTE)).toBe(remoteId);
});

test("a pod of a remote is deleted: its sessions are over and can be read, and the next one is the same remote", async () => {
  const { client, kubectl } = stage.cluster;
  const remoteId = await stage.cluster.remoteId(REMOTE);
  const before = await stage.cluster.remote(REMOTE);
  using shell = await client.run({ remoteId, command: ["sh"] });
  await answers(shell, 42);

  await kubectl.does("delete", "pod", REMOTE, "--wait=false");
  await shell.ended(LIMITS);
  await stage.cluster.replaced(before);
  expect(await stage.cluster.remoteId(REMOTE)).toBe(remoteId);
  const { sessionId } = shell;
  const record = await stage.cluster.eventually(() => client.api.get(sessionId), "the record of the session");
  expect(record).toMatchObject({ status: "exited", source: REMOTE });
  const stored = await client.api.bytes(endpoints.sessionOutput, { params: { id: sessionId } });
  expect(Buffer.compare(stored, shell.bytes)).toBe(0);
  using next = await stage.cluster.eventually(
    () => client.run({ remoteId, command: ["sh"] }),
    "a new session",
  );
  await answers(next, 144);
});

test("the pod of the HQ is deleted: sessions go on, and who is at work in them is back by itself", async () => {
  const { client, kubectl } = stage.cluster;
  const hq = await stage.cluster.hq();
  using shell = await client.run({ remoteId: await stage.cluster.remoteId(REMOTE), command: ["sh"] });
  await answers(shell, 42);
  const { pid } = await client.api.get(shell.sessionId);
  await kubectl.does("delete", "pod", hq.metadata.name);
  await shell.until(() => shell.reconnects > 0 || undefined, "the reconnect", LIMITS);
  await shell.connected(LIMITS);
  await answers(shell, 144);
  expect(await client.api.get(shell.sessionId)).toMatchObject({ pid, status: "running" });
  expect(shell.resyncs).toBe(0);
  expect((await stage.cluster.hq()).metadata.uid).not.toBe(hq.metadata.uid);
});
