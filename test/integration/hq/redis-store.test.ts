// The registry store that several HQs share, on a real Redis, without HQs.
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
import { sentinelUrl, startSentinel } from "../harness/redis-sentinels.ts";
import { REDIS_PASSWORD, RedisServer } from "../harness/redis-server.ts";
import { BACK, OUT_OF_REACH, Replica, remote } from "../harness/replica.ts";

/** Tolerance between our clock and that of Redis. */
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
    {
      await using one = await loaded("one");
      for (const name of ["a", "b"]) await one.putRemote(remote(name));
    }
    const { remotes } = REGISTRY_KEYS;
    await redis.ask(async (asking) => asking.hset(remotes, "a", (await asking.hget(remotes, "b")) ?? ""));
    await using other = await loaded("other");
    expect(other.entries).toEqual([{ remote: remote("b") }]);
  });

  test("hear of everything in the same order, and the one that did it before it goes on", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    const a = remote("a");
    expect(await one.putRemote(a)).toBe(true);
    expect(one.news).toEqual([["a", { remote: a }]]);
    const again = remote("a", { token: "new" });
    await one.putRemote(again);
    await one.put("a", undefined);
    await other.hears((_, entry) => entry === undefined);
    expect(other.news).toEqual([
      ["a", { remote: a }],
      ["a", { remote: again }],
      ["a", undefined],
    ]);
    expect(one.news).toEqual(other.news);
  });

  test("are one and the same to a remote, from the first start on", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    expect([one.tables.instanceId, other.tables.instanceId]).toEqual(["one", "one"]);
  });

  test("find what the others stored when they start", async () => {
    await using one = await loaded("one");
    await one.putRemote(remote("a"));
    await using later = await loaded("later");
    expect(later.entries).toEqual([{ remote: remote("a") }]);
  });

  test("give a name that is claimed at all of them at once to one, of whom the others have heard", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    const claims = Array.from({ length: 10 }, (_, index) => remote("a", { id: `claim-${index}` }));
    const isStored = await Promise.all(
      claims.map((claim, index) => (index % 2 === 0 ? one : other).putRemote(claim)),
    );
    expect(isStored.filter(Boolean)).toHaveLength(1);
    const winner = [{ remote: claims[isStored.indexOf(true)] }];
    expect([one.entries, other.entries]).toEqual([winner, winner]);
  });

  test("do not remove what registered anew at another one meanwhile", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    await one.putRemote(remote("a"));
    await other.hears((name) => name === "a");
    // Simultaneous changes: the registration comes first, and the other HQ does not know of it yet.
    const refreshed = one.putRemote(remote("a", { lastHeartbeat: "2026-01-03T00:00:00.000Z" }));
    const removed = other.put("a", { downSince: "2026-01-03T00:00:00.000Z" });
    expect(await Promise.all([refreshed, removed])).toEqual([true, false]);
    await using later = await loaded("later");
    expect(later.entries).toHaveLength(1);
    expect(await later.put("a", undefined)).toBe(true);
    expect(await redis.ask((asking) => asking.hlen(REGISTRY_KEYS.remotes))).toBe(0);
  });
});

const registryOf = ({ tables, seal }: Replica, isAlive = async () => false): Promise<Registry> =>
  Registry.open({ tables, seal, isAlive, now: () => new Date() });

/** Like the health check when that remote does not answer. */
async function expire(registry: Registry, name: string): Promise<void> {
  const asked = registry.byName(name);
  if (asked === undefined) throw new Error(`no remote ${name}`);
  await registry.checked(asked, false);
  await registry.expire(asked);
}

const requestOf = (name: string) => {
  const { id, url, token } = remote(name);
  return { id, name, url, token };
};
const downAt = (registry: Registry) => registry.down.map(({ name }) => name);

test("all HQs know a removed silent remote until it is back, also an HQ that starts later", async () => {
  await using one = new Replica("one", redis);
  await using other = new Replica("other", redis);
  await using later = new Replica("later", redis);
  await using last = new Replica("last", redis);
  using here = await registryOf(one);
  using there = await registryOf(other);
  for (const name of ["a", "b", "c"]) await here.register(requestOf(name));
  await eventually(async () => there.byName("c"), "the remotes");
  await expire(there, "b");
  await eventually(async () => (here.byName("b") === undefined ? true : undefined), "the removal");
  await expire(here, "a");
  await here.remove("id-of-c");
  await eventually(async () => (there.size === 0 ? true : undefined), "the removals");
  using newcomer = await registryOf(later);
  expect([here, there, newcomer].map(downAt)).toEqual(Array(3).fill(["b", "a"]));
  expect(Math.max(...newcomer.down.map(({ forMs }) => forMs))).toBeLessThan(PATIENCE_MS);

  await here.register({ ...requestOf("a"), id: "successor" });
  await eventually(async () => there.byId("successor") && newcomer.byId("successor"), "the successor");
  using latest = await registryOf(last);
  expect([here, there, newcomer, latest].map(downAt)).toEqual(Array(4).fill(["b"]));
});

test("a removed silent remote is forgotten after a while, by Redis too, and so are the first of too many", async () => {
  await using one = new Replica("one", redis);
  await using other = new Replica("other", redis);
  await one.tables.load();
  const now = Date.now();
  const down = (name: string, agoMs: number) =>
    [name, { downSince: new Date(now - agoMs).toISOString() }] as const;
  const crowd = Array.from({ length: MAX_DOWN_REMOTES + 5 }, (_, index) => `machine-${index}`);
  await one.putAll([...crowd.map((name, index) => down(name, 60_000 - index)), down("long-ago", 91_000)]);
  using registry = await registryOf(other);
  expect(registry.down).toHaveLength(MAX_DOWN_REMOTES);
  expect(downAt(registry)).not.toContain("long-ago");
  const stored = () => redis.ask((asking) => asking.hlen(REGISTRY_KEYS.remotes));
  await eventually(async () => ((await stored()) === MAX_DOWN_REMOTES ? true : undefined), "what is left");
  await registry.register(requestOf("a"));
  await expire(registry, "a");
  await eventually(async () => ((await stored()) === MAX_DOWN_REMOTES ? true : undefined), "what is left");
  expect(downAt(registry).at(-1)).toBe("a");
});

test("a machine that is taken back yields to its newer registration at another HQ", async () => {
  let isBack = false;
  await using one = new Replica("one", redis);
  await using other = new Replica("other", redis);
  using here = await registryOf(one, async () => isBack);
  using there = await registryOf(other, async () => isBack);
  await here.register(requestOf("a"));
  await expire(here, "a");
  await other.hears((_, entry) => entry?.remote === undefined);
  // It was restarted. Neither HQ has received the other's change.
  isBack = true;
  await Promise.all([there.register({ ...requestOf("a"), token: "new" }), here.recover()]);
  await there.register(requestOf("last"));
  await one.hears((name) => name === "last");
  expect([here.byName("a")?.token, there.byName("a")?.token]).toEqual(["new", "new"]);
});

test("no token stands in Redis, plain or in base64, and everything is under one prefix", async () => {
  await using one = await loaded("one");
  await one.put("down", { downSince: new Date().toISOString() });
  await one.putRemote(remote("a"));
  await one.tables.lease.take();
  const keys = await redis.ask((asking) => asking.keys("*"));
  expect(Object.values(REGISTRY_KEYS)).toEqual(expect.arrayContaining(keys));
  expect(keys.every((key) => key.startsWith("ttyhq:"))).toBe(true);
  const everything = await redis.ask((asking) =>
    Promise.all([asking.hgetall(REGISTRY_KEYS.remotes), asking.xrange(REGISTRY_KEYS.changes, "-", "+")]),
  );
  const text = JSON.stringify(everything);
  expect(text).not.toContain("token-of-a");
  expect(text).not.toContain(Buffer.from("token-of-a").toString("base64").replaceAll("=", ""));
});

test("a Redis behind TLS is used when its authority is trusted, and else not, and so are its Sentinels", async () => {
  await using stack = new AsyncDisposableStack();
  const authority = new CertificateAuthority("private");
  const { cert, key } = authority.issue(["127.0.0.1"]);
  const tls = { ca: authority.cert, cert, key: key.bytes() };
  const guarded = stack.use(await RedisServer.start({ tls }));
  const port = await startSentinel(stack, guarded.host.port, (own) => [
    ...[`port 0`, `tls-port ${own}`, "tls-replication yes", "tls-auth-clients no"],
    ...Object.entries(guarded.files).map(([name, path]) => `tls-${name}-file ${path}`),
  ]);
  for (const url of [guarded.url, sentinelUrl("rediss", [port])]) {
    await using one = new Replica("one", { url, ca: authority.cert });
    await one.tables.load();
    expect(await one.putRemote(remote(url))).toBe(true);
    // For any number of retries: TLS errors at the end of a refused connection, possibly twice, do not end the process.
    for (let time = 0; time < 25; time++) {
      await using other = new Replica("other", { url });
      await expect(other.tables.load()).rejects.toThrow(/rediss.*(self-signed|unable to)/);
    }
  }
});

test("of several Sentinels the one that knows of the latest failover is believed; without any the reason is told", async () => {
  await using stack = new AsyncDisposableStack();
  // It was cut off from the others before their failover.
  const late = await startSentinel(stack, 9);
  const port = await startSentinel(stack, redis.host.port, () => ["sentinel config-epoch the-registry 2"]);
  const url = sentinelUrl("redis", [9, late, port]);
  await using one = await Replica.loaded("one", url);
  expect(await one.putRemote(remote("a"))).toBe(true);
  for (const [wrong, reason] of [
    [sentinelUrl("redis", [9]), /127.0.0.1:9\/the-registry: no Sentinel knows the-registry: .*ECONNREFUSED/],
    [url.replace("the-registry", "another"), /no Sentinel knows another: .*No such master/],
    [url.replace(/sentinel-password=.*/, "sentinel-password=wrong"), /WRONGPASS/],
  ] as const) {
    const error = await Replica.loaded("other", wrong).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "start_failed", message: expect.stringMatching(reason) });
    expect(JSON.stringify(error)).not.toMatch(/sesame|ward|wrong/);
  }
});

describe("a start", () => {
  const startOf = async (replica: Replica): Promise<unknown> => {
    await using started = replica;
    return await started.tables.load().catch((error: unknown) => error);
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
    const { host, port } = redis.host;
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
      message: expect.stringContaining("sealed with another secret"),
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
    await one.putRemote(remote("a"));
    await redis.stop({ isDataKept: true });
    await one.said(OUT_OF_REACH);
    await expect(one.putRemote(remote("b"))).rejects.toThrow("unreachable");
    await expect(one.put("a", undefined)).rejects.toThrow("unreachable");
    expect(await one.tables.lease.take()).toBe("other");
    await redis.resume();
    await one.said(BACK);
    expect(one.messages()).toEqual([OUT_OF_REACH, BACK]);
    expect(one.entries).toEqual([{ remote: remote("a") }]);
    await one.putRemote(remote("b"));
    expect(one.news.at(-1)).toEqual(["b", { remote: remote("b") }]);
  });

  test("that answers no more nobody waits longer than the deadline", async () => {
    const refused = async (): Promise<number> => {
      await using one = await loaded("one");
      redis.freeze();
      let ms: number;
      try {
        const started = performance.now();
        const cause = { message: expect.stringContaining("took longer than 2000 ms") };
        await expect(one.putRemote(remote("a"))).rejects.toMatchObject({ cause });
        await one.said(OUT_OF_REACH);
        await expect(one.putRemote(remote("a"))).rejects.toThrow("unreachable");
        ms = performance.now() - started;
      } finally {
        redis.thaw();
      }
      await one.said(BACK);
      await one.putRemote(remote("b"));
      return ms;
    };
    expect(await bestTime(4_000, refused)).toBeLessThan(4_000);
  });

  test("a store that reads everything anew stops all the same", async () => {
    const one = await loaded("one");
    // Writes wait for this, until the test has seen one: for a store, all operations.
    await redis.ask((asking) => asking.call("CLIENT", "PAUSE", PATIENCE_MS, "WRITE"));
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
    await one.putRemote(remote("a"));
    await one.putRemote(remote("b"));
    await redis.ask((asking) => asking.flushall());
    const cause = { message: expect.stringContaining("lost or replaced") };
    await expect(one.putRemote(remote("c"))).rejects.toMatchObject({ cause });
    await one.said(BACK);
    expect(one.tables.instanceId).toBe("one");
    expect(one.entries).toEqual([{ remote: remote("c") }]);
  });
});

describe("the lease", () => {
  test("is one HQ's at a time, and anybody's when that one stops", async () => {
    await using other = await loaded("other");
    {
      await using one = await loaded("one");
      expect(await one.tables.lease.take()).toBe("own");
      expect(await other.tables.lease.take()).toBe("other");
      expect(await one.tables.lease.take()).toBe("own");
    }
    expect(await other.tables.lease.take()).toBe("own");
  });

  test("ends by itself when its HQ died", async () => {
    await using one = await loaded("one");
    const started = performance.now();
    await one.tables.lease.take();
    const ms = await redis.ask((asking) => asking.pttl(REGISTRY_KEYS.lease));
    const agoMs = performance.now() - started;
    expect(ms).toBeGreaterThan(20_000 - agoMs - CLOCKS_MS);
    expect(ms).toBeLessThanOrEqual(20_000);
  });

  test("that was passed on is taken by another one, who knows, and not by the one that passed it", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    await one.tables.lease.take();
    await other.tables.lease.take();
    expect(await one.tables.lease.pass()).toBe(true);
    expect(await one.tables.lease.take()).toBe("other");
    expect(await other.tables.lease.take()).toBe("passed");
    expect(await other.tables.lease.take()).toBe("own");
    expect(await one.tables.lease.take()).toBe("other");
  });

  test("is not passed to nobody", async () => {
    await using one = await loaded("one");
    await one.tables.lease.take();
    expect(await one.tables.lease.pass()).toBe(false);
    expect(await one.tables.lease.take()).toBe("own");
  });
});
