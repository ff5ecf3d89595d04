// A Redis that drops single keys, as one does with another policy than `noeviction`.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { REGISTRY_KEYS } from "../../../src/hq/registry/redis-scripts.ts";
import { Registry } from "../../../src/hq/registry/registry.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { Replica, remote } from "../harness/replica.ts";

let redis: RedisServer;
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis[Symbol.asyncDispose]());
beforeEach(() => redis.ask((asking) => asking.flushall()));

const registryOf = ({ tables, seal }: Replica): Promise<Registry> =>
  Registry.open({ tables, seal, isAlive: async () => true, now: () => new Date() });

const requestOf = (name: string) => {
  const { id, url, token } = remote(name);
  return { id, name, url, token };
};

test("remotes that Redis has dropped stay registered, and are stored again with the next registration", async () => {
  await using one = new Replica("one", redis);
  using registry = await registryOf(one);
  for (const name of ["a", "b"]) await registry.register(requestOf(name));
  const left: string[] = [];
  using _watching = registry.watch(({ kind, remote: { name } }) => void (kind === "left" && left.push(name)));
  await redis.ask((asking) => asking.del(REGISTRY_KEYS.remotes));
  await registry.register(requestOf("a"));
  await eventually(async () => {
    const stored = await redis.ask((asking) => asking.hkeys(REGISTRY_KEYS.remotes));
    return (stored.length === 2 && registry.unstored === 0) || undefined;
  }, "the remotes in Redis");
  expect(left).toEqual([]);
});

test("a remote that Redis has dropped can be removed", async () => {
  await using one = new Replica("one", redis);
  using registry = await registryOf(one);
  await registry.register(requestOf("a"));
  await redis.ask((asking) => asking.del(REGISTRY_KEYS.remotes));
  await registry.remove("id-of-a");
  expect(registry.remotes).toEqual([]);
});

test("HQs continue to share changes after Redis has dropped their count", async () => {
  await using one = new Replica("one", redis);
  await using other = new Replica("other", redis);
  using here = await registryOf(one);
  using there = await registryOf(other);
  for (const name of ["a", "b", "c"]) await here.register(requestOf(name));
  await eventually(async () => there.byName("c"), "the remotes");
  await Promise.all(Array.from({ length: 200 }, () => one.tables.send("a message")));
  await redis.ask((asking) => asking.del(REGISTRY_KEYS.revision));
  await here.register({ ...requestOf("a"), token: "new" });
  await eventually(async () => there.byName("a")?.token === "new" || undefined, "the change at the other HQ");
  // The HQ that made the change may read it later than the other one.
  await eventually(async () => here.unstored + there.unstored === 0 || undefined, "the change in Redis");
  await there.register({ ...requestOf("a"), token: "newer" });
  await eventually(
    async () => here.byName("a")?.token === "newer" || undefined,
    "the change at the first HQ",
  );
});
