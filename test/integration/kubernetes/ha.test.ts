// Two HQs that share a registry in a Redis with Sentinels: their pods are removed one after the other, under viewers of
// both.
import { expect, test } from "vitest";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import type { ServiceError } from "../../../src/protocol/errors.ts";
import { answers } from "../cluster/shell.ts";
import { bestTime } from "../harness/best-time.ts";
import { isReady, type Pod } from "./kubectl.ts";
import { HQ, HQ_DEPLOYMENT } from "./kubernetes-cluster.ts";
import { askSentinel, FIRST_REDIS, knowsAll, OTHER_REDIS, primaryBy } from "./sentinels.ts";
import { Show } from "./show.ts";
import { stagedCluster } from "./staged-cluster.ts";

const REMOTE = "ttyhq-remote-0";
const VIEWERS = 200;
const WORST_STALL_MS = 3_000;
const REDIS = "statefulset/ttyhq-redis";

const stage = stagedCluster({ remotes: 1, sharedRegistry: "redis-sentinel" });

/** Resolves with the pods of the HQ when these are replaced, and all others are ready. */
function without(gone: readonly Pod[]): Promise<readonly Pod[]> {
  const uids = gone.map(({ metadata }) => metadata.uid);
  return stage.cluster.eventually(async () => {
    const pods = await stage.cluster.kubectl.allPods(HQ);
    const isDone = pods.length === 2 && pods.every((pod) => isReady(pod) && !uids.includes(pod.metadata.uid));
    return isDone ? pods : undefined;
  }, "two HQs that are ready");
}

async function writes(): Promise<true> {
  await stage.cluster.client.api.call(endpoints.createWsTicket);
  return true;
}

async function isRefused(): Promise<true | undefined> {
  const refused = await writes().catch((error: ServiceError) => error);
  return (refused !== true && refused.code === "registry_unavailable") || undefined;
}

/** The longest wait of a viewer for output, in ms, while a pod is deleted and then both are updated. */
async function worstStall(): Promise<number> {
  const { cluster } = stage;
  const [first, ...others] = await without([]);
  if (first === undefined) throw new Error("there is no HQ");
  using show = await Show.open(cluster, REMOTE, VIEWERS);

  await cluster.kubectl.does("delete", "pod", first.metadata.name, "--wait=false");
  const next = await without([first]);
  await show.goesOn();
  const ofDeletion = show.worst.ms;
  expect(next.map(({ metadata }) => metadata.uid)).toContain(others[0]?.metadata.uid);

  await cluster.kubectl.does("rollout", "restart", HQ_DEPLOYMENT);
  await cluster.rolledOut(HQ_DEPLOYMENT);
  await without(next);
  await show.goesOn();
  // Without the end, when the rest arrives at once for all of them.
  const { ms } = show.worst;
  console.log(
    `two HQs: the worst stall of ${VIEWERS} viewers was ${Math.round(ofDeletion)} ms until a deleted pod was replaced, and ` +
      `${Math.round(ms)} ms until an update was over; they reconnected ${show.reconnects} times`,
  );
  await show.finish();
  expect(show.reconnects).toBeGreaterThanOrEqual(VIEWERS);
  return ms;
}

test("a pod of two HQs is deleted, and both are updated: viewers lose no byte, get none twice and wait less than 3 s", async () => {
  expect(await bestTime(WORST_STALL_MS, worstStall)).toBeLessThan(WORST_STALL_MS);
});

test("the primary of the Redis is gone: viewers notice nothing, and writes are refused until a replica has its place", async () => {
  const { cluster } = stage;
  // Two Sentinels must agree, and one is lost with the primary.
  const [hesitant] = OTHER_REDIS;
  using show = await Show.open(cluster, REMOTE, VIEWERS);
  await Promise.all(OTHER_REDIS.map((pod) => knowsAll(cluster, pod)));
  expect(await primaryBy(cluster, hesitant)).toBe(FIRST_REDIS);
  await writes();

  await askSentinel(cluster, hesitant, "SET ttyhq down-after-milliseconds 600000");
  // Prevents the pod from returning early.
  await cluster.kubectl.does("delete", REDIS, "--cascade=orphan");
  await cluster.kubectl.does("delete", "pod", FIRST_REDIS, "--force", "--grace-period=0");
  await cluster.eventually(isRefused, "the refusal of a ticket");
  await show.goesOn();
  expect(await cluster.client.api.call(endpoints.listRemotes)).toHaveLength(1);

  await askSentinel(cluster, hesitant, "SET ttyhq down-after-milliseconds 5000");
  const agreedMs = performance.now();
  await cluster.eventually(writes, "a ticket");
  console.log(`a replica of the Redis took writes after ${Math.round(performance.now() - agreedMs)} ms`);
  const next = await primaryBy(cluster, hesitant);
  expect(OTHER_REDIS).toContain(next);

  // The former primary is a replica, and stays one.
  await cluster.apply();
  const all = [FIRST_REDIS, ...OTHER_REDIS];
  await Promise.all(all.map((pod) => knowsAll(cluster, pod)));
  expect(await Promise.all(all.map((pod) => primaryBy(cluster, pod)))).toEqual(all.map(() => next));
  await writes();
  await show.finish();
  expect(show.reconnects).toBe(0);
});

test("while Redis is unreachable sessions and logins continue and new tickets are refused; all recover by themselves", async () => {
  const { cluster } = stage;
  const { api } = cluster.client;
  using shell = await cluster.client.run({ remoteId: await cluster.remoteId(REMOTE), command: ["sh"] });
  await answers(shell, 42);
  await writes();
  const before = await without([]);

  await cluster.kubectl.does("scale", REDIS, "--replicas=0");
  await cluster.eventually(isRefused, "the refusal of a ticket");
  await answers(shell, 144);
  using another = await cluster.client.attach(shell.sessionId);
  await another.shows(/^144$/m);
  expect(await api.call(endpoints.listRemotes)).toHaveLength(1);

  await cluster.kubectl.does("scale", REDIS, "--replicas=3");
  await cluster.eventually(writes, "a ticket");
  await answers(shell, 1764);
  const after = await without([]);
  expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
  expect({ reconnects: shell.reconnects, resyncs: shell.resyncs }).toEqual({ reconnects: 0, resyncs: 0 });
});
