// What is kept of logins, in a file and in Redis alike.
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FileRecords } from "../../../src/auth/tokens/file-records.ts";
import { LoginRecords } from "../../../src/auth/tokens/login-records.ts";
import type { RecordStore } from "../../../src/lib/live-records.ts";
import { eventually } from "../harness/eventually.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { Replica } from "../harness/replica.ts";

const MINUTE_MS = 60_000;
const IDLE_MS = 30 * MINUTE_MS;
const log = { warn: () => {} };

let redis: RedisServer;
beforeAll(async () => {
  redis = await RedisServer.start();
});
afterAll(() => redis[Symbol.asyncDispose]());

type Kept = AsyncDisposable & {
  readonly records: RecordStore;
  /** The same records as another process has them, or this one after a restart. */
  readonly elsewhere: () => Promise<RecordStore>;
};

async function inFile(now: () => number): Promise<Kept> {
  const folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-logins-"));
  const open = () => FileRecords.open({ path: join(folder.path, "logins.json"), now, log });
  return { records: await open(), elsewhere: open, [Symbol.asyncDispose]: () => folder.remove() };
}

async function inRedis(now: () => number): Promise<Kept> {
  const replicas = new AsyncDisposableStack();
  const open = async (name: string): Promise<RecordStore> =>
    await replicas.use(await Replica.loaded(name, redis.url)).records(now);
  const records = await open("one");
  // What one test put there is not there for the next.
  replicas.defer(() => records.end(records.list("login")));
  return { records, elsewhere: () => open("other"), [Symbol.asyncDispose]: () => replicas.disposeAsync() };
}

describe.each([
  ["a file", inFile],
  ["Redis", inRedis],
] as const)("in %s", (_, open) => {
  async function kept() {
    const clock = { ms: Date.now() };
    const now = (): number => clock.ms;
    const place = await open(now);
    let writes = 0;
    const counted: typeof place.records.put = (record) => {
      writes++;
      return place.records.put(record);
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
      await logins.add(id, clock.ms / 1000 + 86_400, {
        ...{ user, method: "password", address: "10.0.0.1", client: "curl/8" },
      });
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
      ...{ clock, logins, add, use, elsewhere, writes: () => writes },
      [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
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
        ...{ id: "id-1", user: "ada", method: "password", createdAt, lastUsedAt: createdAt },
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

  test("what has a login open keeps it in use until it closes", async () => {
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
    await place.logins.end("id-7", "ada");
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
      await expect(place.logins.end(id, user)).rejects.toThrow(`no login ${id}`);
    }
    expect(await place.logins.end("id-9")).toBe("ada");
  });

  test("a use does not bring back a login that has ended", async () => {
    await using place = await kept();
    await place.add("id-10");
    const held = place.logins.hold("id-10");
    await place.logins.end("id-10", "ada");
    place.clock.ms += 2 * MINUTE_MS;
    held[Symbol.dispose]();
    expect(place.logins.list("ada")).toEqual([]);
  });
});
