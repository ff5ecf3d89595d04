// The registry store that several HQs share, on a real Redis, without the HQs.
import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { REGISTRY_KEYS } from "../../../src/hq/registry/redis-scripts.ts";
import { Registry } from "../../../src/hq/registry/registry.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { MAX_DOWN_REMOTES } from "../../../src/protocol/limits.ts";
import { CertificateAuthority } from "../../unit/certificate-authority.ts";
import { bestTime } from "../harness/best-time.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { REDIS_PASSWORD, RedisServer } from "../harness/redis-server.ts";
import { BACK, OUT_OF_REACH, Replica, remote } from "../harness/replica.ts";

/** What our clock and that of Redis may tell differently. */
const CLOCKS_MS = 100;

let redis: RedisServer;
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis[Symbol.asyncDispose]());
beforeEach(() => redis.ask((asking) => asking.flushall()));

const loaded = (name: string): Promise<Replica> => Replica.loaded(name, redis.url);

describe("HQs that share a registry", () => {
  test("send no token to an address that somebody else put into Redis", async () => {
    const a = remote("a");
    {
      await using one = await loaded("one");
      await one.store.put(a, "new");
    }
    await redis.ask(async (asking) => {
      const kept = JSON.parse((await asking.hget(REGISTRY_KEYS.remotes, a.id)) ?? "");
      await asking.hset(REGISTRY_KEYS.remotes, a.id, JSON.stringify({ ...kept, url: "http://thief.test" }));
    });
    await using other = await loaded("other");
    expect(other.read.remotes).toEqual([]);
  });

  test("hear of everything in the same order, and the one that did it before it goes on", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    const a = remote("a");
    expect(await one.store.put(a, "new")).toBeUndefined();
    expect(one.news).toEqual([{ kind: "stored", remote: a }]);
    const again = remote("a", { token: "new" });
    await one.store.put(again, "new");
    await one.store.remove(a.id);
    await other.hears(({ kind }) => kind === "removed");
    expect(other.news).toEqual([
      { kind: "stored", remote: a },
      { kind: "stored", remote: again },
      { kind: "removed", id: a.id, down: undefined },
    ]);
    expect(one.news).toEqual(other.news);
  });

  test("are one and the same to a remote, from the first start on", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    expect([one.store.instanceId, other.store.instanceId]).toEqual(["one", "one"]);
  });

  test("find what the others kept when they start", async () => {
    await using one = await loaded("one");
    await one.store.put(remote("a"), "new");
    await using later = await loaded("later");
    expect(later.read.remotes).toMatchObject([{ remote: remote("a") }]);
  });

  test("give a name that is claimed at all of them at once to one", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    const claims = Array.from({ length: 10 }, (_, index) => remote("a", { id: `claim-${index}` }));
    const holders = await Promise.all(
      claims.map((claim, index) => (index % 2 === 0 ? one : other).store.put(claim, "new")),
    );
    const winner = claims[holders.indexOf(undefined)];
    expect(winner).toBeDefined();
    expect(holders.filter((holder) => holder === undefined)).toHaveLength(1);
    const remotes = holders.flatMap((holder) => holder?.remote ?? []);
    expect(remotes).toEqual(Array(9).fill(winner));
  });

  test("free a name with its holder, and with another name of that one", async () => {
    await using one = await loaded("one");
    await one.store.put(remote("a"), "new");
    await one.store.put(remote("b", { id: "id-of-a" }), "new");
    expect(await one.store.put(remote("a", { id: "second" }), "new")).toBeUndefined();
    await one.store.remove("id-of-a");
    expect(await one.store.put(remote("b", { id: "third" }), "new")).toBeUndefined();
  });

  test("do not remove what registered anew at another one meanwhile", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    await one.store.put(remote("a"), "new");
    await other.hears(({ kind }) => kind === "stored");
    const version = other.versionOf("id-of-a");
    // Both at once: the registration comes first, and the other HQ does not know of it yet.
    const refreshed = one.store.put(remote("a", { lastHeartbeat: "2026-01-03T00:00:00.000Z" }), "new");
    const removed = refreshed.then(() => other.store.remove("id-of-a", version));
    await Promise.all([refreshed, removed]);
    await using later = await loaded("later");
    expect(later.read.remotes).toHaveLength(1);
    await later.store.remove("id-of-a", later.versionOf("id-of-a"));
    expect(await redis.ask((asking) => asking.hlen(REGISTRY_KEYS.remotes))).toBe(0);
  });

  test("restore nothing over what is newer", async () => {
    await using one = await loaded("one");
    const newer = remote("a", { token: "new", lastHeartbeat: "2026-01-03T00:00:00.000Z" });
    await one.store.put(newer, "new");
    expect(await one.store.put(remote("a"), "restored")).toBeUndefined();
    await using later = await loaded("later");
    expect(later.read.remotes).toMatchObject([{ remote: newer }]);
    await one.store.put(remote("a"), "new");
    await using last = await loaded("last");
    expect(last.read.remotes).toMatchObject([{ remote: remote("a") }]);
  });
});

test("who was removed because it does not answer is known to all HQs, also to one that starts later, until it is back", async () => {
  await using one = await loaded("one");
  await using other = await loaded("other");
  for (const name of ["a", "b", "c"]) await one.store.put(remote(name), "new");
  await other.hears((change) => change.kind === "stored" && change.remote.name === "c");
  const before = Date.now();
  await other.store.remove("id-of-b", other.versionOf("id-of-b"));
  await one.hears(({ kind }) => kind === "removed");
  await one.store.remove("id-of-a", one.versionOf("id-of-a"));
  await one.store.remove("id-of-c");
  await other.hears((change) => change.kind === "removed" && change.id === "id-of-c");
  await using later = await loaded("later");
  expect([one, other].map(({ down }) => down)).toEqual([
    ["b", "a"],
    ["b", "a"],
  ]);
  expect(later.down.toSorted()).toEqual(["a", "b"]);
  const since = later.read.down.map((each) => Date.parse(each.since));
  // It is kept in whole seconds.
  expect(Math.min(...since)).toBeGreaterThan(before - 1_000 - CLOCKS_MS);
  expect(Math.max(...since)).toBeLessThanOrEqual(Date.now());

  await one.store.put(remote("a", { id: "successor" }), "new");
  await later.hears(({ kind }) => kind === "stored");
  await other.hears((change) => change.kind === "stored" && change.remote.id === "successor");
  await using last = await loaded("last");
  expect([one, other, later, last].map(({ down }) => down)).toEqual([["b"], ["b"], ["b"], ["b"]]);
});

test("who was removed because it does not answer is forgotten after a while, by Redis too, and so are the first of too many", async () => {
  await using one = await loaded("one");
  const { down } = REGISTRY_KEYS;
  const now = Date.now() / 1000;
  const crowd = Array.from({ length: MAX_DOWN_REMOTES + 5 }, (_, index) => `machine-${index}`);
  const entries = crowd.flatMap((name, index) => [now - 60 + index / 100, name]);
  await redis.ask((asking) => asking.zadd(down, now - 91, "long-ago", ...entries));
  await using later = new Replica("later", redis);
  using registry = await Registry.open({
    ...{ store: later.store, isAlive: async () => false, now: () => new Date() },
  });
  expect(registry.down).toHaveLength(MAX_DOWN_REMOTES);
  expect(later.down).not.toContain("long-ago");
  await one.store.put(remote("a"), "new");
  await one.store.remove("id-of-a", one.versionOf("id-of-a"));
  expect(await redis.ask((asking) => asking.zcard(down))).toBe(MAX_DOWN_REMOTES);
  expect(await redis.ask((asking) => asking.zscore(down, "a"))).not.toBeNull();
  const ttl = await redis.ask((asking) => asking.ttl(down));
  expect(ttl).toBeGreaterThan(80);
  expect(ttl).toBeLessThanOrEqual(90);
});

test("a machine that is taken back gives way to what it told another HQ meanwhile", async () => {
  let isBack = false;
  await using one = new Replica("one", redis);
  await using other = new Replica("other", redis);
  const alive = { isAlive: async () => isBack, now: () => new Date() };
  using here = await Registry.open({ store: one.store, ...alive });
  using there = await Registry.open({ store: other.store, ...alive });
  const { id, name, url, token } = remote("a");
  const silent = await here.register({ id, name, url, token });
  await here.checked(silent, false);
  await here.expire(silent);
  await other.hears(({ kind }) => kind === "removed");
  // It was started again. Neither HQ has heard of what the other one does.
  isBack = true;
  await Promise.all([there.register({ id, name, url, token: "new" }), here.recover()]);
  await other.store.put(remote("last"), "new");
  await one.hears((change) => change.kind === "stored" && change.remote.name === "last");
  expect([here.byId(id)?.token, there.byId(id)?.token]).toEqual(["new", "new"]);
});

test("no token stands in Redis, plain or in base64, and everything is under one prefix", async () => {
  await using one = await loaded("one");
  await one.store.put(remote("silent"), "new");
  await one.store.remove("id-of-silent", one.versionOf("id-of-silent"));
  await one.store.put(remote("a"), "new");
  await one.store.lease.take();
  const keys = await redis.ask((asking) => asking.keys("*"));
  expect(Object.values(REGISTRY_KEYS)).toEqual(expect.arrayContaining(keys));
  expect(keys.every((key) => key.startsWith("ttyhq:"))).toBe(true);
  const everything = await redis.ask((asking) =>
    Promise.all([asking.hgetall(REGISTRY_KEYS.remotes), asking.xrange(REGISTRY_KEYS.changes, "-", "+")]),
  );
  const text = JSON.stringify(everything);
  expect(text).toContain("http://a.test");
  expect(text).not.toContain("token-of-a");
  expect(text).not.toContain(Buffer.from("token-of-a").toString("base64").replaceAll("=", ""));
});

test("a Redis behind TLS is used when its authority is trusted, and else not", async () => {
  const authority = new CertificateAuthority("private");
  const { cert, key } = authority.issue(["127.0.0.1"]);
  await using guarded = await RedisServer.start({ ca: authority.cert, cert, key: key.bytes() });
  await using one = new Replica("one", { url: guarded.url, ca: authority.cert });
  await one.store.load();
  expect(await one.store.put(remote("a"), "new")).toBeUndefined();
  // However often: what TLS says at the end of a refused connection, perhaps twice, ends nobody.
  for (let time = 0; time < 50; time++) {
    await using other = new Replica("other", { url: guarded.url });
    await expect(other.store.load()).rejects.toThrow(/rediss:.*(self-signed|unable to)/);
  }
});

describe("a start", () => {
  const startOf = async (replica: Replica): Promise<unknown> => {
    await using started = replica;
    return await started.store.load().catch((error: unknown) => error);
  };

  test("fails with a sentence when nobody is there, and tells no credentials", async () => {
    const url = `redis://me:${REDIS_PASSWORD}@127.0.0.1:9`;
    const error = await startOf(new Replica("one", { url }));
    expect(error).toMatchObject({
      code: "start_failed",
      message: "cannot use the registry at redis://127.0.0.1:9: connect ECONNREFUSED 127.0.0.1:9",
    });
  });

  test("fails with a sentence when it is not let in", async () => {
    const { host, port } = redis.address;
    for (const [credentials, reason] of [
      [":wrong@", /WRONGPASS/],
      ["", /NOAUTH/],
    ] as const) {
      const error = await startOf(new Replica("one", { url: `redis://${credentials}${host}:${port}` }));
      expect(error).toMatchObject({ code: "start_failed", message: expect.stringMatching(reason) });
      expect(JSON.stringify(error)).not.toContain("wrong@");
    }
  });

  test("fails with a sentence when the other HQs have another secret", async () => {
    await using one = await loaded("one");
    const error = await startOf(
      new Replica("two", { url: redis.url, secret: "another secret of at least 32 bytes" }),
    );
    expect(error).toMatchObject({
      code: "start_failed",
      message: expect.stringContaining("made with another secret"),
    });
    expect(one.messages()).toEqual([]);
  });

  test("fails within seconds when something takes the connection and never answers", async () => {
    await using server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    server.on("connection", (socket) => socket.once("close", () => socket.destroy()).resume());
    const error = await startOf(new Replica("one", { url: `redis://127.0.0.1:${address.port}` }));
    expect(error).toMatchObject({
      code: "start_failed",
      message: expect.stringContaining("took longer than 5000 ms"),
    });
  });
});

describe("without its Redis", () => {
  test("a store refuses at once, says so once, and is back by itself", async () => {
    await using one = await loaded("one");
    await one.store.put(remote("a"), "new");
    await redis.stop({ isDataKept: true });
    await one.said(OUT_OF_REACH);
    await expect(one.store.put(remote("b"), "new")).rejects.toThrow("out of reach");
    await expect(one.store.remove("id-of-a")).rejects.toThrow("out of reach");
    expect(await one.store.lease.take()).toBe("other");
    await redis.resume();
    await one.said(BACK);
    expect(one.messages()).toEqual([OUT_OF_REACH, BACK]);
    expect(one.read.remotes).toMatchObject([{ remote: remote("a") }]);
    await one.store.put(remote("b"), "new");
    expect(one.news.at(-1)).toEqual({ kind: "stored", remote: remote("b") });
  });

  test("that answers no more nobody waits longer than the deadline", async () => {
    const refused = async (): Promise<number> => {
      await using one = await loaded("one");
      redis.freeze();
      let ms: number;
      try {
        const started = performance.now();
        await expect(one.store.put(remote("a"), "new")).rejects.toThrow("took longer than 2000 ms");
        await one.said(OUT_OF_REACH);
        await expect(one.store.put(remote("a"), "new")).rejects.toThrow("out of reach");
        ms = performance.now() - started;
      } finally {
        redis.thaw();
      }
      await one.said(BACK);
      await one.store.put(remote("b"), "new");
      return ms;
    };
    expect(await bestTime(4_000, refused)).toBeLessThan(4_000);
  });

  test("a store that reads everything anew stops all the same", async () => {
    const one = await loaded("one");
    // What may write waits: for a store, everything that it asks.
    await redis.ask((asking) => asking.call("CLIENT", "PAUSE", 10_000, "WRITE"));
    await redis.ask((asking) => asking.call("CLIENT", "KILL", "TYPE", "normal"));
    await eventually(async () => {
      const clients = String(await redis.ask((asking) => asking.call("CLIENT", "LIST")));
      return clients.includes("cmd=eval") || undefined;
    }, "a store that reads");
    const stopped = one[Symbol.asyncDispose]();
    await redis.ask((asking) => asking.call("CLIENT", "UNPAUSE"));
    await withDeadline(stopped, PATIENCE_MS, "the stop");
  });

  test("that lost everything while it ran, it is noticed with the next change", async () => {
    await using one = await loaded("one");
    await one.store.put(remote("a"), "new");
    await one.store.put(remote("b"), "new");
    await redis.ask((asking) => asking.flushall());
    await expect(one.store.put(remote("c"), "new")).rejects.toThrow("forgotten");
    await one.said(BACK);
    expect(one.store.instanceId).toBe("one");
    expect(one.read.remotes).toMatchObject([{ remote: remote("c") }]);
  });
});

describe("the lease", () => {
  test("is one HQ's at a time, and anybody's when that one stops", async () => {
    await using other = await loaded("other");
    {
      await using one = await loaded("one");
      expect(await one.store.lease.take()).toBe("own");
      expect(await other.store.lease.take()).toBe("other");
      expect(await one.store.lease.take()).toBe("own");
    }
    expect(await other.store.lease.take()).toBe("own");
  });

  test("ends by itself when its HQ died", async () => {
    await using one = await loaded("one");
    const started = performance.now();
    await one.store.lease.take();
    const ms = await redis.ask((asking) => asking.pttl(REGISTRY_KEYS.lease));
    const agoMs = performance.now() - started;
    expect(ms).toBeGreaterThan(20_000 - agoMs - CLOCKS_MS);
    expect(ms).toBeLessThanOrEqual(20_000);
  });

  test("that was passed on is taken by another one, who knows, and not by the one that passed it", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    await one.store.lease.take();
    await other.store.lease.take();
    expect(await one.store.lease.pass()).toBe(true);
    expect(await one.store.lease.take()).toBe("other");
    expect(await other.store.lease.take()).toBe("passed");
    expect(await other.store.lease.take()).toBe("own");
    expect(await one.store.lease.take()).toBe("other");
  });

  test("is not passed to nobody", async () => {
    await using one = await loaded("one");
    await one.store.lease.take();
    expect(await one.store.lease.pass()).toBe(false);
    expect(await one.store.lease.take()).toBe("own");
  });
});
