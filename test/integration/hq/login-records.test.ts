// Login records, in a file and in Redis alike.
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { openFileRecords } from "../../../src/auth/tokens/file-records.ts";
import { LoginRecords } from "../../../src/auth/tokens/login-records.ts";
import type { RecordStore } from "../../../src/lib/data/live-records.ts";
import { MAX_API_TOKENS_PER_USER } from "../../../src/protocol/limits.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { Replica } from "../harness/replica.ts";

const MINUTE_MS = 60_000;
const IDLE_MS = 30 * MINUTE_MS;
const log = { warn: () => {} };

type Kept = AsyncDisposable & {
  readonly records: RecordStore;
  /** The same records in another process, or after a restart. */
  readonly elsewhere: () => Promise<RecordStore>;
};

async function inFile(now: () => number): Promise<Kept> {
  const folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-logins-"));
  const open = () => openFileRecords({ path: join(folder.path, "logins.json"), now, log });
  return { records: await open(), elsewhere: open, [Symbol.asyncDispose]: () => folder.remove() };
}

async function inRedis(now: () => number): Promise<Kept> {
  const started = new AsyncDisposableStack();
  const redis = started.use(await RedisServer.start());
  const open = async (name: string): Promise<RecordStore> =>
    started.use(await Replica.loaded(name, redis.url, now)).records;
  const records = await open("one");
  return { records, elsewhere: () => open("other"), [Symbol.asyncDispose]: () => started.disposeAsync() };
}

describe.each([
  ["a file", inFile],
  ["Redis", inRedis],
] as const)("in %s", (_, open) => {
  async function kept() {
    const clock = { ms: Date.now() };
    const now = (): number => clock.ms;
    const place = await open(now);
    const writes: Promise<void>[] = [];
    const counted: typeof place.records.put = (record) => {
      const write = place.records.put(record);
      writes.push(write);
      return write;
    };
    const { records } = place;
    const logins = new LoginRecords({
      records: {
        ...{ put: counted, get: (id) => records.get(id), find: (id) => records.find(id) },
        ...{ list: (kind) => records.list(kind), end: (all) => records.end(all) },
      },
      ...{ now, log, idleMs: IDLE_MS },
    });
    const add = async (id: string, user = "ada") =>
      await logins.add(
        { id, expiresAtS: clock.ms / 1000 + 86_400 },
        {
          ...{ user, method: "password", address: "10.0.0.1", client: "curl/8" },
        },
      );
    const use = (id: string): void => {
      const record = records.get(id);
      if (record === undefined) throw new Error(`no record ${id}`);
      logins.use(record);
    };
    const elsewhere = async () => {
      const other = await place.elsewhere();
      return { records: other, logins: new LoginRecords({ records: other, now, log, idleMs: IDLE_MS }) };
    };
    return {
      ...{ clock, logins, add, use, elsewhere, writes: () => writes.length },
      [Symbol.asyncDispose]: async () => {
        // Uses are written in the background.
        await Promise.allSettled(writes);
        await place[Symbol.asyncDispose]();
      },
    };
  }

  test("a login is listed with who, how, when and from where, to its user alone or with everybody's", async () => {
    await using place = await kept();
    const createdAt = new Date(place.clock.ms).toISOString();
    await place.add("id-1");
    await place.add("id-2", "eve");
    const { logins } = await place.elsewhere();
    expect(logins.list("ada")).toEqual([
      {
        ...{ id: "id-1", user: "ada", method: "password", createdAt },
        ...{ address: "10.0.0.1", client: "curl/8", expiresAtS: place.clock.ms / 1000 + 86_400 },
      },
    ]);
    expect(
      logins
        .list()
        .map(({ user }) => user)
        .sort(),
    ).toEqual(["ada", "eve"]);
  });

  test("uses within a minute write nothing; a later one is known elsewhere", async () => {
    await using place = await kept();
    await place.add("id-3");
    for (let second = 1; second < 60; second++) {
      place.clock.ms += 1_000;
      place.use("id-3");
    }
    expect(place.writes()).toBe(1);
    place.clock.ms += 1_000;
    for (let count = 0; count < 10; count++) place.use("id-3");
    expect(place.writes()).toBe(2);
    const usedAt = new Date(place.clock.ms).toISOString();
    const isKnown = async () =>
      (await place.elsewhere()).logins.list("ada").find(({ lastUsedAt }) => lastUsedAt === usedAt);
    await eventually(isKnown, "the use");
  });

  test("a login that was not used for so long is refused and not listed, one that was used is", async () => {
    await using place = await kept();
    await place.add("id-4");
    await place.add("id-5");
    place.clock.ms += IDLE_MS;
    place.use("id-5");
    place.clock.ms += MINUTE_MS + 1;
    expect(() => place.use("id-4")).toThrow("not used for longer than this server allows: log in again");
    place.use("id-5");
    expect(place.logins.list("ada").map(({ id }) => id)).toEqual(["id-5"]);
  });

  test("an open connection keeps its login in use until it closes", async () => {
    await using place = await kept();
    await place.add("id-6");
    const held = place.logins.hold("id-6");
    place.clock.ms += 10 * IDLE_MS;
    held[Symbol.dispose]();
    place.clock.ms += IDLE_MS;
    place.use("id-6");
  });

  test("exactly the login that is meant ends, everywhere", async () => {
    await using place = await kept();
    await place.add("id-7");
    await place.add("id-8");
    await place.elsewhere();
    await place.logins.end("login", "id-7", "ada");
    const other = await place.elsewhere();
    expect(await other.records.find("id-7")).toBeUndefined();
    expect(other.logins.list("ada").map(({ id }) => id)).toEqual(["id-8"]);
  });

  test("somebody else's login is not there to be ended", async () => {
    await using place = await kept();
    await place.add("id-9");
    for (const [id, user] of [
      ["id-9", "eve"],
      ["none", "ada"],
      ["none", undefined],
    ] as const) {
      await expect(place.logins.end("login", id, user)).rejects.toThrow(`no login ${id}`);
    }
    expect(await place.logins.end("login", "id-9")).toBe("ada");
  });

  test("a use does not bring back a login that has ended", async () => {
    await using place = await kept();
    await place.add("id-10");
    const held = place.logins.hold("id-10");
    await place.logins.end("login", "id-10", "ada");
    place.clock.ms += 2 * MINUTE_MS;
    held[Symbol.dispose]();
    expect(place.logins.list("ada")).toEqual([]);
  });

  const ci = {
    ...{ user: "ada", method: "token", name: "ci", address: "10.0.0.1" },
    scope: ["sessions:view", "sessions:create"],
  } as const;

  test("an API token is listed with its name, scope and last use, apart from logins, and does not become idle", async () => {
    await using place = await kept();
    const expiresAtS = place.clock.ms / 1000 + 86_400;
    await place.add("id-11");
    await place.logins.addToken({ id: "token-1", expiresAtS }, ci);
    const { logins } = await place.elsewhere();
    expect(logins.tokens("ada")).toEqual([
      { ...ci, id: "token-1", expiresAtS, createdAt: new Date(place.clock.ms).toISOString() },
    ]);
    expect(logins.list("ada").map(({ id }) => id)).toEqual(["id-11"]);
    place.clock.ms += 2 * IDLE_MS;
    place.use("token-1");
    expect(place.logins.tokens()[0]?.lastUsedAt).toBe(new Date(place.clock.ms).toISOString());
    place.clock.ms = expiresAtS * 1000;
    expect(place.logins.tokens()).toEqual([]);
  });

  test("a user has one API token of a name; it is revoked by its id, and by nobody as a login", async () => {
    await using place = await kept();
    const expiresAtS = place.clock.ms / 1000 + 86_400;
    await place.logins.addToken({ id: "token-2", expiresAtS }, ci);
    const again = place.logins.addToken({ id: "token-3", expiresAtS }, ci);
    await expect(again).rejects.toMatchObject({ code: "token_name_taken" });
    await place.logins.addToken({ id: "token-4", expiresAtS }, { ...ci, user: "eve" });
    await expect(place.logins.end("login", "token-2", "ada")).rejects.toThrow("no login");
    await expect(place.logins.end("token", "token-4", "ada")).rejects.toThrow("no API token token-4");
    await place.logins.end("token", "token-2", "ada");
    expect(await (await place.elsewhere()).records.find("token-2")).toBeUndefined();
    await place.logins.addToken({ id: "token-5", expiresAtS }, ci);
  });

  test("a user has at most the limit of API tokens", async () => {
    await using place = await kept();
    const add = async (count: number) =>
      await place.logins.addToken(
        { id: `many-${count}`, expiresAtS: place.clock.ms / 1000 + 60 },
        { ...ci, name: `many-${count}` },
      );
    for (let count = 0; count < MAX_API_TOKENS_PER_USER; count++) await add(count);
    await expect(add(MAX_API_TOKENS_PER_USER)).rejects.toMatchObject({ code: "too_many_tokens" });
  });
});
