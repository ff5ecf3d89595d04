// Agreement between HQs that share a registry: on a real Redis, without servers.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { REGISTRY_KEYS } from "../../../src/hq/registry/redis-scripts.ts";
import { Registry, type RegistryChange } from "../../../src/hq/registry/registry.ts";
import type { Remote } from "../../../src/hq/remote-state.ts";
import { CutProxy } from "../harness/cut-proxy.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { BACK, OUT_OF_REACH, Replica, remote } from "../harness/replica.ts";

let redis: RedisServer;
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis[Symbol.asyncDispose]());
beforeEach(() => redis.ask((asking) => asking.flushall()));

type Hq = AsyncDisposable & { readonly replica: Replica; readonly registry: Registry };
const openHq = async (
  name: string,
  alive: ReadonlySet<string> = new Set(),
  url: string = redis.url,
): Promise<Hq> => {
  const replica = new Replica(name, { url });
  const isAlive = async ({ id }: Remote): Promise<boolean> => alive.has(id);
  const { tables, seal } = replica;
  const registry = await Registry.open({ tables, seal, isAlive, now: () => new Date() });
  return { replica, registry, [Symbol.asyncDispose]: () => replica[Symbol.asyncDispose]() };
};
const request = (name: string, more: object = {}) => {
  const { registeredAt: _, lastHeartbeat: __, ...rest } = remote(name);
  return { ...rest, ...more };
};
const idsOf = ({ registry }: Hq): readonly string[] => registry.remotes.map(({ id }) => id).toSorted();
const has = ({ registry }: Hq, id: string): Promise<unknown> =>
  eventually(async () => registry.byId(id), `${id} in the registry`);

test("take turns with a name: the second claim is refused while the first holder answers", async () => {
  const alive = new Set(["first", "second"]);
  await using one = await openHq("one", alive);
  await using other = await openHq("other", alive);
  const outcomes = await Promise.allSettled([
    one.registry.register(request("a", { id: "first" })),
    other.registry.register(request("a", { id: "second" })),
  ]);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
    reason: { code: "remote_name_taken" },
  });
  // The losing HQ may learn of the other's change a moment later.
  const isAgreed = async () => (`${idsOf(one)}` === `${idsOf(other)}` ? true : undefined);
  await eventually(isAgreed, "the same holder at both");
  alive.clear();
  const loser = idsOf(one)[0] === "first" ? "second" : "first";
  await one.registry.register(request("a", { id: loser }));
  expect(idsOf(one)).toEqual([loser]);
  await has(other, loser);
  expect(idsOf(other)).toEqual([loser]);
});

test("keep what registered while Redis was away, and tell each other when it is back", async () => {
  await using one = await openHq("one");
  await using other = await openHq("other");
  await redis.stop({ isDataKept: true });
  await Promise.all([one, other].map(({ replica }) => replica.said(OUT_OF_REACH)));
  await one.registry.register(request("a"));
  await other.registry.register(request("b"));
  expect([idsOf(one), idsOf(other)]).toEqual([["id-of-a"], ["id-of-b"]]);
  await redis.resume();
  await Promise.all([has(one, "id-of-b"), has(other, "id-of-a")]);
  expect(one.replica.messages()).toEqual([OUT_OF_REACH, BACK]);
});

test("go on with names and removals while Redis is away", async () => {
  await using one = await openHq("one");
  await redis.stop({ isDataKept: true });
  await one.replica.said(OUT_OF_REACH);
  await one.registry.register(request("a", { id: "first" }));
  await one.registry.register(request("a", { id: "second" }));
  expect(idsOf(one)).toEqual(["second"]);
  await one.registry.remove("second");
  expect(idsOf(one)).toEqual([]);
  await redis.resume();
  await one.replica.said(BACK);
  expect(idsOf(one)).toEqual([]);
});

test("that registered the same name while Redis was away agree on one when it is back", async () => {
  const alive = new Set(["first", "second"]);
  await using one = await openHq("one", alive);
  await using other = await openHq("other", alive);
  await redis.stop({ isDataKept: true });
  await Promise.all([one, other].map(({ replica }) => replica.said(OUT_OF_REACH)));
  await one.registry.register(request("a", { id: "first" }));
  await other.registry.register(request("a", { id: "second" }));
  await redis.resume();
  await eventually(
    async () => (`${idsOf(one)}` === `${idsOf(other)}` ? true : undefined),
    "the same holder at both",
  );
  expect(idsOf(one)).toHaveLength(1);
});

test("lose nobody who answers when Redis comes back empty, and stay who they are", async () => {
  const alive = new Set(["id-of-a"]);
  await using one = await openHq("one", alive);
  await using other = await openHq("other", alive);
  await one.registry.register(request("a"));
  await one.registry.register(request("b"));
  await has(other, "id-of-b");
  const changes: RegistryChange[] = [];
  other.registry.watch((change) => changes.push(change));
  await redis.stop({ isDataKept: false });
  await redis.resume();
  await Promise.all([one, other].map(({ replica }) => replica.said(BACK)));
  const isSettled = async (): Promise<true | undefined> =>
    `${idsOf(one)} ${idsOf(other)}` === "id-of-a id-of-a" ? true : undefined;
  await eventually(isSettled, "only who answers");
  await eventually(
    () => redis.ask(async (asking) => ((await asking.hlen(REGISTRY_KEYS.remotes)) === 1 ? true : undefined)),
    "the registry in Redis",
  );
  expect(changes.filter(({ kind }) => kind === "left").map(({ remote: { id } }) => id)).toEqual(["id-of-b"]);
  expect(one.replica.tables.instanceId).toBe(other.replica.tables.instanceId);
});

test("do not keep a machine that left while Redis refused to write, and do one that came", async () => {
  await using one = await openHq("one");
  await using other = await openHq("other");
  await one.registry.register(request("a"));
  await has(other, "id-of-a");
  const needReplicas = (count: number): Promise<unknown> =>
    redis.ask((asking) => asking.config("SET", "min-replicas-to-write", count));
  await needReplicas(1);
  try {
    await one.registry.remove("id-of-a");
    await one.registry.register(request("b"));
    expect(idsOf(one)).toEqual(["id-of-b"]);
  } finally {
    await needReplicas(0);
  }
  await one.replica.said(BACK);
  await has(other, "id-of-b");
  const left = await eventually(async () => one.registry.byId("id-of-a"), "what Redis still has");
  // The health check of one of the HQs does this.
  await one.registry.checked(left, false);
  await one.registry.expire(left);
  await eventually(async () => (other.registry.byId("id-of-a") === undefined ? true : undefined), "its end");
});

test("hear, when they are back, of everything that was done without them", async () => {
  await using proxy = await CutProxy.open(redis.host.port);
  const url = new URL(redis.url);
  url.port = new URL(proxy.url).port;
  await using one = await openHq("one", new Set(), url.href);
  await using other = await openHq("other");
  for (const name of ["a", "b", "c"]) await one.registry.register(request(name));
  await has(other, "id-of-c");
  const changes: RegistryChange[] = [];
  one.registry.watch((change) => changes.push(change));
  proxy.cut();
  await one.replica.said(OUT_OF_REACH);
  await other.registry.remove("id-of-a");
  await other.registry.register(request("b", { token: "new" }));
  await other.registry.register(request("d"));
  proxy.mend();
  await one.replica.said(BACK);
  await eventually(async () => (one.registry.byId("id-of-a") === undefined ? true : undefined), "its end");
  expect(idsOf(one)).toEqual(["id-of-b", "id-of-c", "id-of-d"]);
  expect(one.registry.byName("b")?.token).toBe("new");
  expect(changes.map(({ kind, remote: { name } }) => `${name} ${kind}`).toSorted()).toEqual([
    "a left",
    "b refreshed",
    "d joined",
  ]);
});
