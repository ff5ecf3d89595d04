import { describe, expect, test } from "vitest";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { CreateSession } from "../../../src/protocol/schemas/session.ts";
import { MemorySessions } from "../hub/memory-sessions.ts";
import { MemoryFleet, settled } from "./memory-fleet.ts";
import { registration } from "./memory-store.ts";

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "success",
    (error: { code?: unknown }) => error.code,
  );
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const unreachable = (): Promise<never> =>
  Promise.reject(new ServiceError("host_unreachable", "connection refused"));

describe("the list", () => {
  test("has the sessions of all remotes, labelled with their remote", async () => {
    const local = new MemorySessions();
    local.add("here");
    await using hq = await MemoryFleet.of({ local });
    await hq.join("a", ["one"]);
    await hq.join("b", ["two"]);
    expect(await hq.ids()).toEqual(["here", "one", "two"]);
    const records = new Map((await hq.fleet.list()).map((record) => [record.id, record]));
    expect(records.get("one")).toMatchObject({
      ...{ source: "a", remoteId: "id-of-a", remoteName: "a", remoteUrl: "http://a.test" },
    });
    expect(records.get("here")).toMatchObject({ source: "local", remoteId: "local", remoteName: "local" });
    expect(records.get("here")?.remoteUrl).toBeUndefined();
  });

  test("waits for no remote", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a", ["one"]);
    const hanging = hq.remote("http://b.test");
    hanging.gate = new Promise(() => {});
    hanging.hide("two");
    await hq.join("b");
    expect(await hq.ids()).toEqual(["one"]);
  });

  test("has no sessions of a remote that left", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a", ["one"]);
    await hq.registry.remove("id-of-a");
    expect(await hq.ids()).toEqual([]);
    expect(await codeOf(hq.fleet.get("nobody"))).toBe("session_not_found");
    expect(hq.remote("http://a.test").isDisposed).toBe(true);
  });
});

describe("a session that is not known", () => {
  test("is searched for on the remotes, and known from then on", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a");
    const remote = await hq.join("b");
    remote.hide("new");
    expect(await hq.fleet.get("new")).toMatchObject({ id: "new", source: "b" });
    expect(await hq.ids()).toEqual(["new"]);
  });

  test("is searched for once for all callers, and gets its input in order", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a");
    const session = remote.hide("new");
    const writes = Array.from("keystrokes", (key) => hq.fleet.write("new", bytes(key)));
    // Meanwhile an event tells the owner; later input still waits for its turn.
    await hq.fleet.refresh("a");
    writes.push(hq.fleet.write("new", bytes("!")));
    await Promise.all(writes);
    expect(new TextDecoder().decode(Buffer.concat(session.input))).toBe("keystrokes!");
    expect(remote.questions).toEqual(["new"]);
  });

  test("gets its input in order while its owner becomes known", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a");
    const session = remote.hide("new");
    const keys = "abcdefghijklmnopqrstuvwxyz".repeat(2);
    const writes: Promise<void>[] = [];
    for (const key of keys) {
      writes.push(hq.fleet.write("new", bytes(key)));
      await undefined;
    }
    await Promise.all(writes);
    expect(new TextDecoder().decode(Buffer.concat(session.input))).toBe(keys);
  });

  test("is session_not_found when no remote has it", async () => {
    await using hq = await MemoryFleet.of();
    expect(await codeOf(hq.fleet.get("nobody"))).toBe("session_not_found");
    await hq.join("a");
    await hq.join("b");
    // In the words for a session that the caller may not see.
    await expect(hq.fleet.get("nobody")).rejects.toMatchObject({
      code: "session_not_found",
      message: "no session nobody",
    });
  });

  test("is not session_not_found while a remote cannot be asked", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a");
    const unreachableRemote = await hq.join("b");
    unreachableRemote.gate = unreachable();
    unreachableRemote.hide("nobody");
    expect(await codeOf(hq.fleet.get("nobody"))).toBe("remote_unreachable");
  });

  test("is awaited for at most two seconds from a hanging remote", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a");
    const hanging = await hq.join("b");
    hanging.gate = new Promise(() => {});
    hanging.hide("nobody");
    const started = performance.now();
    expect(await codeOf(hq.fleet.get("nobody"))).toBe("remote_timeout");
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});

describe("sessions of two remotes with the same id", () => {
  test("are listed once, and the conflict of the later one is logged once", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a", ["same"]);
    await hq.join("b", ["same", "other"]);
    await hq.fleet.refresh("b");
    expect((await hq.fleet.list()).map(({ id, source }) => [id, source])).toContainEqual(["same", "a"]);
    expect(await hq.ids()).toEqual(["other", "same"]);
    expect(hq.fleet.sessionsOf("a")).toEqual({ ids: ["same"], conflicts: [] });
    expect(hq.fleet.sessionsOf("b")).toEqual({ ids: ["other"], conflicts: ["same"] });
    expect(hq.log.filter(({ message }) => message === "another remote already has the session id")).toEqual([
      { fields: { remote: "b", session: "same" }, message: "another remote already has the session id" },
    ]);
  });

  test("are logged at most once a minute for each remote, however many there are", async () => {
    let now = new Date();
    await using hq = await MemoryFleet.of({ now: () => now });
    const ids = Array.from({ length: 20 }, (_, index) => `same-${index}`);
    await hq.join("a", ids);
    const liar = await hq.join("b", ids);
    await hq.join("c", ["same-0"]);
    const warned = () =>
      hq.log.flatMap(({ fields, message }) => (message.startsWith("another remote") ? [fields] : []));
    const first = [
      { remote: "b", session: "same-0" },
      { remote: "c", session: "same-0" },
    ];
    await liar.remove("same-1");
    liar.add("same-1");
    expect(warned()).toEqual(first);
    now = new Date(now.getTime() + 60_000);
    await liar.remove("same-2");
    liar.add("same-2");
    expect(warned()).toEqual([...first, { remote: "b", session: "same-2" }]);
  });

  test("lead to the first one, and events of the second one are not reported", async () => {
    await using hq = await MemoryFleet.of();
    const first = await hq.join("a", ["same"]);
    const second = await hq.join("b", ["same"]);
    await hq.fleet.write("same", bytes("x"));
    expect(first.sessions.get("same")?.input).toHaveLength(1);
    const before = hq.told("same");
    await second.remove("same");
    expect(hq.told("same")).toEqual(before);
    expect(await hq.ids()).toEqual(["same"]);
  });

  test("lead to the second one when the first one is removed", async () => {
    await using hq = await MemoryFleet.of();
    const first = await hq.join("a", ["same"]);
    await hq.join("b", ["same"]);
    await first.remove("same");
    expect(hq.told("same").slice(-2)).toEqual(["session-removed", "session-changed"]);
    expect((await hq.fleet.list()).map(({ source }) => source)).toEqual(["b"]);
    expect(hq.fleet.sessionsOf("b").conflicts).toEqual([]);
  });

  test("list the second one when the first remote left and its session has no viewers", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a", ["same"]);
    await hq.join("b", ["same"]);
    const watching = await hq.fleet.subscribe("same", () => {});
    await hq.registry.remove("id-of-a");
    expect(await hq.ids()).toEqual([]);
    watching[Symbol.dispose]();
    expect((await hq.fleet.list()).map(({ source }) => source)).toEqual(["b"]);
  });
});

test("a viewer keeps its session when the remote registers under another name", async () => {
  await using hq = await MemoryFleet.of();
  const remote = await hq.join("a", ["one"]);
  const seen: string[] = [];
  using _watching = await hq.fleet.subscribe("one", ({ kind }) => void seen.push(kind));
  await hq.registry.register(registration("b", { id: "id-of-a", url: registration("a").url }));
  await settled();
  expect(hq.registry.remotes.map(({ name }) => name)).toEqual(["b"]);
  expect((await hq.fleet.list()).map(({ id, source }) => [id, source])).toEqual([["one", "b"]]);
  expect((await hq.fleet.get("one")).remoteName).toBe("b");
  expect(hq.fleet.sessionsOf("b")).toEqual({ ids: ["one"], conflicts: [] });
  remote.sessions.get("one")?.print("x");
  expect(seen).toContain("output");
});

describe("create", () => {
  test("requires a remote id", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a");
    const create = (body: object): Promise<unknown> =>
      codeOf(hq.fleet.create(CreateSession.parse({ command: "cat", ...body })));
    expect(await create({})).toBe("remote_id_required");
    await expect(hq.fleet.create(CreateSession.parse({}))).rejects.toThrow(
      /GET \/api\/remotes.*ttyhq run --machine/,
    );
    expect(await create({ remoteId: "nobody" })).toBe("remote_not_found");
    expect(await create({ remoteId: "local" })).toBe("remote_not_found");
    expect(await create({ remoteId: "id-of-a", id: "one" })).toBe("success");
  });

  test("refuses an id that another remote has, and lets the chosen remote check its own ids", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a", ["one"]);
    await hq.join("b");
    const at = (remoteId: string): Promise<unknown> =>
      codeOf(hq.fleet.create(CreateSession.parse({ id: "one", remoteId })));
    expect(await at("id-of-b")).toBe("session_exists");
    // It went without a word.
    remote.sessions.delete("one");
    expect(await at("id-of-a")).toBe("success");
  });

  test("is refused when its remote answers with a session of another remote", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a", ["one"]);
    const rogue = await hq.join("b");
    rogue.create = () => remote.memory.get("one");
    await expect(hq.fleet.create(CreateSession.parse({ remoteId: "id-of-b" }))).rejects.toMatchObject({
      code: "session_exists",
      message: "remote b has given its session the id one, which another remote has: it cannot be reached",
    });
  });
});

describe("an unusable remote", () => {
  test.each([
    ["host_unreachable", "remote_unreachable"],
    // It was restarted, and knows another token: the client's own login is as good as before.
    ["unauthorized", "remote_unreachable"],
    ["second_factor_required", "remote_unreachable"],
    ["session_not_running", "session_not_running"],
    ["rate_limited", "rate_limited"],
  ] as const)("and says %s is %s to the client", async (code, seen) => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a", ["one"]);
    remote.gate = Promise.reject(new ServiceError(code, "of the machine"));
    expect(await codeOf(hq.fleet.get("one"))).toBe(seen);
  });

  test("because it is late is remote_timeout", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a", ["one"]);
    const cause = new DOMException("late", "TimeoutError");
    remote.gate = Promise.reject(new ServiceError("host_unreachable", "no answer", { cause }));
    expect(await codeOf(hq.fleet.get("one"))).toBe("remote_timeout");
  });
});
