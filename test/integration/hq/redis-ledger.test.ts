// The ledger that several HQs share, on a real Redis, without the HQs.
import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { LEDGER_KEYS } from "../../../src/hq/registry/redis-scripts.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
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

describe("HQs that share a ledger", () => {
  test("send no token to an address that somebody else put into Redis", async () => {
    const a = remote("a");
    {
      await using one = await loaded("one");
      await one.store.put(a, "new");
    }
    await redis.ask(async (asking) => {
      const kept = JSON.parse((await asking.hget(LEDGER_KEYS.remotes, a.id)) ?? "");
      await asking.hset(LEDGER_KEYS.remotes, a.id, JSON.stringify({ ...kept, url: "http://thief.test" }));
    });
    await using other = new Replica("other", { url: redis.url });
    expect(await other.store.load()).toEqual([]);
  });

  test("hear of everything in the same order, and the one that did it before it goes on", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    const a = remote("a");
    expect(await one.store.put(a, "new")).toBeUndefined();
    expect(one.heard).toEqual([{ kind: "kept", remote: a }]);
    const again = remote("a", { token: "new" });
    await one.store.put(again, "new");
    await one.store.drop(again, "always");
    await other.hears(({ kind }) => kind === "dropped");
    expect(other.heard).toEqual([
      { kind: "kept", remote: a },
      { kind: "kept", remote: again },
      { kind: "dropped", id: a.id },
    ]);
    expect(one.heard).toEqual(other.heard);
  });

  test("are one and the same to a remote, from the first start on", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    expect([one.store.instanceId, other.store.instanceId]).toEqual(["one", "one"]);
  });

  test("find what the others kept when they start", async () => {
    await using one = await loaded("one");
    await one.store.put(remote("a"), "new");
    await using later = new Replica("later", redis);
    expect(await later.store.load()).toEqual([remote("a")]);
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
    expect(holders.filter((holder) => holder !== undefined)).toEqual(Array(9).fill(winner));
  });

  test("free a name with its holder, and with another name of that one", async () => {
    await using one = await loaded("one");
    await one.store.put(remote("a"), "new");
    await one.store.put(remote("b", { id: "id-of-a" }), "new");
    expect(await one.store.put(remote("a", { id: "second" }), "new")).toBeUndefined();
    await one.store.drop(remote("b", { id: "id-of-a" }), "always");
    expect(await one.store.put(remote("b", { id: "third" }), "new")).toBeUndefined();
  });

  test("do not remove what registered anew at another one meanwhile", async () => {
    await using one = await loaded("one");
    await using other = await loaded("other");
    await one.store.put(remote("a"), "new");
    await other.hears(({ kind }) => kind === "kept");
    // Both at once: what one does comes first, and the other one does not know of it yet.
    const refreshed = one.store.put(remote("a", { lastHeartbeat: "2026-01-03T00:00:00.000Z" }), "new");
    const dropped = refreshed.then(() => other.store.drop(remote("a", { token: "old" }), "unchanged"));
    await Promise.all([refreshed, dropped]);
    await using later = new Replica("later", redis);
    expect(await later.store.load()).toHaveLength(1);
    await other.store.drop(remote("a"), "unchanged");
    expect(await redis.ask((asking) => asking.hlen(LEDGER_KEYS.remotes))).toBe(0);
  });

  test("restore nothing over what is newer", async () => {
    await using one = await loaded("one");
    const newer = remote("a", { token: "new", lastHeartbeat: "2026-01-03T00:00:00.000Z" });
    await one.store.put(newer, "new");
    expect(await one.store.put(remote("a"), "restored")).toBeUndefined();
    await using later = new Replica("later", redis);
    expect(await later.store.load()).toEqual([newer]);
    await one.store.put(remote("a"), "new");
    await using last = new Replica("last", redis);
    expect(await last.store.load()).toEqual([remote("a")]);
  });
});

test("no token stands in Redis, plain or in base64, and everything is under one prefix", async () => {
  await using one = await loaded("one");
  await one.store.put(remote("silent"), "new");
  await one.store.drop(remote("silent"), "unchanged");
  await one.store.put(remote("a"), "new");
  await one.store.lease.take();
  const keys = await redis.ask((asking) => asking.keys("*"));
  expect(Object.values(LEDGER_KEYS)).toEqual(expect.arrayContaining(keys));
  expect(keys.every((key) => key.startsWith("ttyhq:"))).toBe(true);
  const everything = await redis.ask((asking) =>
    Promise.all([asking.hgetall(LEDGER_KEYS.remotes), asking.xrange(LEDGER_KEYS.changes, "-", "+")]),
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
  expect(await one.store.load()).toEqual([]);
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
  test("a ledger refuses at once, says so once, and is back by itself", async () => {
    await using one = await loaded("one");
    await one.store.put(remote("a"), "new");
    await redis.stop({ isDataKept: true });
    await one.said(OUT_OF_REACH);
    await expect(one.store.put(remote("b"), "new")).rejects.toThrow("out of reach");
    await expect(one.store.drop(remote("a"), "always")).rejects.toThrow("out of reach");
    expect(await one.store.lease.take()).toBe("other");
    await redis.resume();
    await one.said(BACK);
    expect(one.messages()).toEqual([OUT_OF_REACH, BACK]);
    expect(one.heard.at(-1)).toEqual({ kind: "reread", remotes: [remote("a")] });
    await one.store.put(remote("b"), "new");
    expect(one.heard.at(-1)).toEqual({ kind: "kept", remote: remote("b") });
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

  test("a ledger that reads everything anew stops all the same", async () => {
    const one = await loaded("one");
    // What may write waits: of a ledger, all that it asks.
    await redis.ask((asking) => asking.call("CLIENT", "PAUSE", 10_000, "WRITE"));
    await redis.ask((asking) => asking.call("CLIENT", "KILL", "TYPE", "normal"));
    await eventually(async () => {
      const clients = String(await redis.ask((asking) => asking.call("CLIENT", "LIST")));
      return clients.includes("cmd=eval") || undefined;
    }, "a ledger that reads");
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
    expect(one.heard.at(-1)).toEqual({ kind: "reread", remotes: [remote("c")] });
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
    const ms = await redis.ask((asking) => asking.pttl(LEDGER_KEYS.lease));
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
