// Who fell silent, as HQs that share a ledger know it: on a real Redis, without the HQs.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { LEDGER_KEYS } from "../../../src/hq/registry/redis-scripts.ts";
import { Registry } from "../../../src/hq/registry/registry.ts";
import { MAX_SILENT_REMOTES } from "../../../src/protocol/limits.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { Replica, remote } from "../harness/replica.ts";

/** What our clock and that of Redis may tell differently. */
const CLOCKS_MS = 100;

let redis: RedisServer;
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis[Symbol.asyncDispose]());
beforeEach(() => redis.ask((asking) => asking.flushall()));

const loaded = (name: string): Promise<Replica> => Replica.loaded(name, redis.url);
const silentAt = ({ store: ledger }: Replica): readonly string[] => ledger.silent.map(({ name }) => name);

test("who was removed because it does not answer is known to all HQs, also to one that starts later, until it is back", async () => {
  await using one = await loaded("one");
  await using other = await loaded("other");
  for (const name of ["a", "b", "c"]) await one.store.put(remote(name), "new");
  await other.hears((change) => change.kind === "kept" && change.remote.name === "c");
  const before = Date.now();
  await other.store.drop(remote("b"), "unchanged");
  await one.hears(({ kind }) => kind === "dropped");
  await one.store.drop(remote("a"), "unchanged");
  await one.store.drop(remote("c"), "always");
  await other.hears((change) => change.kind === "dropped" && change.id === "id-of-c");
  await using later = await loaded("later");
  expect([one, other].map(silentAt)).toEqual([
    ["b", "a"],
    ["b", "a"],
  ]);
  expect(silentAt(later).toSorted()).toEqual(["a", "b"]);
  const since = later.store.silent.map((each) => Date.parse(each.since));
  // It is kept in whole seconds.
  expect(Math.min(...since)).toBeGreaterThan(before - 1_000 - CLOCKS_MS);
  expect(Math.max(...since)).toBeLessThanOrEqual(Date.now());

  await one.store.put(remote("a", { id: "successor" }), "new");
  await later.hears(({ kind }) => kind === "kept");
  await other.hears((change) => change.kind === "kept" && change.remote.id === "successor");
  await using last = await loaded("last");
  expect([one, other, later, last].map(silentAt)).toEqual([["b"], ["b"], ["b"], ["b"]]);
});

test("who was removed because it does not answer is forgotten after a while, by Redis too, and so are the first of too many", async () => {
  await using one = await loaded("one");
  const { silent } = LEDGER_KEYS;
  const now = Date.now() / 1000;
  const crowd = Array.from({ length: MAX_SILENT_REMOTES + 5 }, (_, index) => `machine-${index}`);
  const entries = crowd.flatMap((name, index) => [now - 60 + index / 100, name]);
  await redis.ask((asking) => asking.zadd(silent, now - 91, "long-ago", ...entries));
  await using later = await loaded("later");
  expect(silentAt(later)).toHaveLength(MAX_SILENT_REMOTES);
  expect(silentAt(later)).not.toContain("long-ago");
  await one.store.put(remote("a"), "new");
  await one.store.drop(remote("a"), "unchanged");
  expect(await redis.ask((asking) => asking.zcard(silent))).toBe(MAX_SILENT_REMOTES);
  expect(await redis.ask((asking) => asking.zscore(silent, "a"))).not.toBeNull();
  const ttl = await redis.ask((asking) => asking.ttl(silent));
  expect(ttl).toBeGreaterThan(80);
  expect(ttl).toBeLessThanOrEqual(90);
});

test("a machine that is taken back gives way to what it told another HQ meanwhile", async () => {
  await using one = new Replica("one", redis);
  await using other = new Replica("other", redis);
  const parts = { isAlive: async () => false, now: () => new Date() };
  using here = await Registry.open({ ledger: one.store, ...parts });
  using there = await Registry.open({ ledger: other.store, ...parts });
  const { id, name, url, token } = remote("a");
  const silent = await here.register({ id, name, url, token });
  await here.expire(silent);
  await other.hears(({ kind }) => kind === "dropped");
  // It was started again. Neither HQ has heard of what the other one does.
  await Promise.all([there.register({ id, name, url, token: "new" }), here.takeBack(silent)]);
  await other.store.put(remote("last"), "new");
  await one.hears((change) => change.kind === "kept" && change.remote.name === "last");
  expect([here.byId(id)?.token, there.byId(id)?.token]).toEqual(["new", "new"]);
});
