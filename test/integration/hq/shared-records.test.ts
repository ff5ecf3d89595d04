// Logins and share links in the HQs' Redis, without HQs.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { REGISTRY_KEYS } from "../../../src/hq/registry/redis-scripts.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { Replica } from "../harness/replica.ts";

let redis: RedisServer;
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis[Symbol.asyncDispose]());
beforeEach(() => redis.ask((asking) => asking.flushall()));

const record = (id: string, expiresAtS: number) => {
  return { id, kind: "login", expiresAtS, value: { user: "ada" } };
};
const storedIds = () => redis.ask(async (asking) => (await asking.hkeys(REGISTRY_KEYS.records)).toSorted());
const seconds = (ms: number): number => Math.round(ms / 1_000);

test("a record takes the place of what somebody else put into Redis", async () => {
  await using one = await Replica.loaded("one", redis.url);
  await redis.ask((asking) => asking.hset(REGISTRY_KEYS.records, "a", "not sealed"));
  const own = record("a", seconds(Date.now()) + 3_600);
  await one.records.put(own);
  await using other = await Replica.loaded("other", redis.url);
  expect(other.records.get("a")).toEqual(own);
});

test("a record in the form of another version keeps no HQ from its registry", async () => {
  await using one = await Replica.loaded("one", redis.url);
  const own = record("a", seconds(Date.now()) + 3_600);
  await one.records.put(own);
  const other = JSON.stringify({ kind: "login", endsAt: 0 });
  await redis.ask((asking) => asking.hset(REGISTRY_KEYS.records, "b", one.seal.seal("record:b", other)));
  await using later = await Replica.loaded("later", redis.url);
  expect(later.records.get("a")).toEqual(own);
  expect(later.records.get("b")).toBeUndefined();
});

test("a message in the form of another version cuts no HQ off its registry", async () => {
  await using one = await Replica.loaded("one", redis.url);
  await one.tables.send(one.seal.seal("replica call", JSON.stringify({ to: "one", kind: "novel" })));
  expect(one.log).toEqual([]);
});

test("of two HQs that change a record at once both succeed, and all have the same record", async () => {
  await using one = await Replica.loaded("one", redis.url);
  await using other = await Replica.loaded("other", redis.url);
  const own = record("a", seconds(Date.now()) + 3_600);
  await one.records.put(own);
  await eventually(async () => other.records.get("a"), "the record");
  const changes = Array.from({ length: 10 }, (_, index) => ({ ...own, value: { user: `user-${index}` } }));
  await Promise.all(changes.map((change, index) => (index % 2 === 0 ? one : other).records.put(change)));
  await using last = await Replica.loaded("last", redis.url);
  const kept = last.records.get("a");
  expect(changes).toContainEqual(kept);
  for (const { records } of [one, other]) {
    await eventually(
      async () => JSON.stringify(records.get("a")) === JSON.stringify(kept) || undefined,
      "it",
    );
  }
});

test("an ended record stays ended, also when it is stored at the same time", async () => {
  await using one = await Replica.loaded("one", redis.url);
  await using other = await Replica.loaded("other", redis.url);
  const own = record("a", seconds(Date.now()) + 3_600);
  await one.records.put(own);
  await eventually(async () => other.records.get("a"), "the record");
  await Promise.all([one.records.put({ ...own, value: {} }), other.records.end([own])]);
  await one.records.put(own);
  await using last = await Replica.loaded("last", redis.url);
  for (const { records } of [one, other, last]) expect(await records.find("a")).toBeUndefined();
});

test("records that have expired are removed from Redis, ended ones as well", async () => {
  const clock = { ms: Date.now() };
  await using one = await Replica.loaded("one", redis.url, () => clock.ms);
  const expiresAtS = seconds(clock.ms) + 60;
  await one.records.put(record("a", expiresAtS));
  await one.records.end([record("b", expiresAtS)]);
  expect(await storedIds()).toEqual(["a", "b"]);
  clock.ms += 62_000;
  await one.records.put(record("c", expiresAtS + 3_600));
  await eventually(async () => (await storedIds()).join() === "c" || undefined, "the removal");
});
