import { describe, expect, test, vi } from "vitest";
import { Fleet } from "../../../src/hq/fleet.ts";
import { keyOf } from "../../../src/protocol/directory/session-change.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { HEALTH_CHECK_TIMEOUT_MS } from "../../../src/protocol/limits.ts";
import { DIALLED_URL } from "../../../src/protocol/schemas/remote.ts";
import type { Delivery } from "../../../src/sessions/backend.ts";
import { MemoryFleet, MemoryRemote, settled } from "./memory-fleet.ts";
import { memoryRegistry, registration } from "./memory-store.ts";

/** The fleet of an HQ that starts with one remote, which has the session `one` and whose answers wait for `gate`. */
async function restarted(gate: Promise<void>): Promise<Fleet> {
  const registry = await memoryRegistry();
  await registry.register(registration("a"));
  const remote = new MemoryRemote();
  remote.gate = gate;
  remote.hide("one");
  return new Fleet({
    ...{ registry, local: undefined, log: { info: () => undefined, warn: () => undefined } },
    ...{ targetOf: ({ url }) => ({ url, headers: {} }), connect: () => remote },
  });
}

describe("the events of sessions", () => {
  test("carry the whole record, come after the list has it, and cost no request", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a");
    // Whatever is asked of it is not answered.
    remote.gate = new Promise(() => {});
    const listed: (readonly string[])[] = [];
    hq.fleet.watch(({ type }) => {
      if (type === "session-start") listed.push(hq.fleet.all().map(({ id }) => id));
    });
    remote.add("new");
    expect(hq.events.at(-1)).toMatchObject({
      ...{ type: "session-start", sessionId: "new", remoteName: "a" },
      record: { id: "new", source: "a", remoteUrl: "http://a.test" },
    });
    expect(listed).toEqual([["new"]]);
  });

  test("arrive in order", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a");
    remote.add("new");
    remote.announce("bell", "new");
    remote.announce("session-changed", "new");
    await remote.remove("new");
    expect(hq.told("new")).toEqual(["session-start", "bell", "session-changed", "session-removed"]);
    expect(await hq.ids()).toEqual([]);
  });

  test("report a removal when a session replaces another one, and the list has the new one", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a", ["one"]);
    const old = remote.sessions.get("one")?.record;
    await remote.remove("one");
    remote.add("one").created = "2031-01-01T00:00:00.000Z";
    remote.announce("session-changed", "one");
    // The removal is told once more, as by a slow connection: it is that of the old one.
    const key = old && keyOf(old);
    remote.memory.announce({
      type: "session-removed",
      timestamp: "",
      sessionId: "one",
      ...(key && { key }),
    });
    expect(await hq.ids()).toEqual(["one"]);
    expect((await hq.fleet.list())[0]?.created).toBe("2031-01-01T00:00:00.000Z");
  });
});

describe("a remote that joins", () => {
  test.each([
    ["http://10.0.0.7:4020", 1],
    ["https://worker.example:4020", 0],
    ["http://127.0.0.1:4020", 0],
    ["http://[::1]:4020", 0],
    [DIALLED_URL, 0],
  ])("from %s is warned of %i times", async (url, times) => {
    await using hq = await MemoryFleet.of();
    await hq.registry.register(registration("a", { url }));
    await hq.registry.register(registration("a", { url }));
    await settled();
    expect(hq.log.filter(({ message }) => message.includes("without TLS"))).toHaveLength(times);
  });

  test("is reported once its sessions are in the list", async () => {
    await using hq = await MemoryFleet.of();
    const remote = hq.remote("http://a.test");
    const gate = Promise.withResolvers<void>();
    remote.gate = gate.promise;
    await hq.join("a", ["one"]);
    expect(hq.told()).toEqual([]);
    gate.resolve();
    await settled();
    expect(hq.told()).toEqual(["remote-joined"]);
    expect(await hq.ids()).toEqual(["one"]);
  });

  test("that was registered before the HQ started is introduced once its sessions are in the list", async () => {
    const gate = Promise.withResolvers<void>();
    await using fleet = await restarted(gate.promise);
    const first = await Promise.race([fleet.introduced.then(() => "introduced"), settled()]);
    expect(first).toBeUndefined();
    gate.resolve();
    await fleet.introduced;
    expect(fleet.all().map(({ id }) => id)).toEqual(["one"]);
  });

  test("that does not answer holds up the others for five seconds at most", async () => {
    vi.useFakeTimers();
    try {
      await using fleet = await restarted(new Promise(() => undefined));
      await vi.advanceTimersByTimeAsync(HEALTH_CHECK_TIMEOUT_MS);
      await fleet.introduced;
    } finally {
      vi.useRealTimers();
    }
  });

  test("and refreshes its registration is reported once, and a new address is used", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a", ["one"]);
    await hq.registry.register({ id: "id-of-a", name: "a", url: "http://new.test", token: "new" });
    await settled();
    expect(hq.told()).toEqual(["remote-joined"]);
    expect(remote.targets.at(-1)).toEqual({ url: "http://new.test", headers: { authorization: "new" } });
    expect((await hq.fleet.list())[0]?.remoteUrl).toBe("http://new.test");
  });

  test("and leaves is reported, and joins again under the same id", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a", ["one"]);
    await hq.registry.remove("id-of-a");
    await hq.join("a");
    expect(hq.told()).toEqual(["remote-joined", "remote-left", "remote-joined"]);
    expect(
      hq.events
        .filter(({ sessionId }) => sessionId === undefined)
        .map(({ remoteId, remoteName }) => [remoteId, remoteName]),
    ).toEqual(Array.from({ length: 3 }, () => ["id-of-a", "a"]));
    expect(await hq.ids()).toEqual(["one"]);
  });
});

describe("a session with a viewer whose remote leaves", () => {
  test("is not listed, refuses input as unreachable, and continues when the remote returns", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a", ["one"]);
    const got: Delivery[] = [];
    const subscription = await hq.fleet.subscribe("one", (delivery) => got.push(delivery));
    remote.memory.command = () => Promise.reject(new ServiceError("host_unreachable", "disconnected"));
    await hq.registry.remove("id-of-a");
    expect(await hq.ids()).toEqual([]);
    await expect(hq.fleet.write("one", new Uint8Array(1))).rejects.toMatchObject({
      code: "remote_unreachable",
    });
    await hq.registry.register({ id: "new-id", name: "a", url: "http://a.test", token: "new" });
    await settled();
    expect(remote.isDisposed).toBe(false);
    expect((await hq.fleet.list())[0]).toMatchObject({ id: "one", remoteId: "new-id" });
    remote.sessions.get("one")?.print("more");
    expect(got).toMatchObject([{ kind: "output", offset: 0 }]);
    subscription[Symbol.dispose]();
    expect(remote.isDisposed).toBe(false);
  });

  test("is dropped with its last viewer, and its id is free", async () => {
    await using hq = await MemoryFleet.of();
    const remote = await hq.join("a", ["one"]);
    const subscription = await hq.fleet.subscribe("one", () => {});
    await hq.registry.remove("id-of-a");
    subscription[Symbol.dispose]();
    expect(remote.isDisposed).toBe(true);
    await hq.join("b", ["one"]);
    expect((await hq.fleet.get("one")).source).toBe("b");
  });
});
