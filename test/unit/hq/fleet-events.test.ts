import { describe, expect, test } from "vitest";
import { ServiceError } from "../../../src/protocol/errors.ts";
import type { Delivery } from "../../../src/sessions/backend.ts";
import { MemoryFleet, type MemoryMachine, settled } from "./memory-fleet.ts";

describe("what happens to sessions is told", () => {
  test("when the list has it", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a");
    const listed: (readonly string[])[] = [];
    hq.fleet.watch(({ type }) => {
      if (type === "session-start") void hq.ids().then((ids) => listed.push(ids));
    });
    machine.add("new");
    machine.announce({ type: "session-start", timestamp: "", sessionId: "new" });
    await settled();
    expect(hq.events.at(-1)).toMatchObject({ type: "session-start", sessionId: "new", remoteName: "a" });
    expect(listed).toEqual([["new"]]);
  });

  test("in order, also when much happens while a machine is slow", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a");
    const gate = Promise.withResolvers<void>();
    machine.add("new");
    machine.gate = gate.promise;
    for (const type of ["session-start", "bell", "session-changed", "session-exit"] as const) {
      machine.announce({ type, timestamp: "", sessionId: "new" });
    }
    await settled();
    expect(hq.told("new")).toEqual([]);
    gate.resolve();
    await settled();
    expect(hq.told("new")).toEqual(["session-start", "bell", "session-changed", "session-exit"]);
  });

  test("in order and at once when the session is removed meanwhile", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a");
    machine.add("new");
    machine.gate = new Promise(() => {});
    machine.announce({ type: "session-start", timestamp: "", sessionId: "new" });
    await machine.remove("new");
    expect(hq.told("new")).toEqual(["session-start", "session-removed"]);
    expect(await hq.ids()).toEqual([]);
  });

  test("without end while a machine hangs does not pile up", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a", ["one"]);
    const gate = Promise.withResolvers<void>();
    machine.gate = gate.promise;
    for (let round = 0; round < 1_000; round++) {
      machine.announce({
        type: round % 2 === 0 ? "session-changed" : "bell",
        timestamp: "",
        sessionId: "one",
      });
    }
    machine.announce({ type: "session-exit", timestamp: "", sessionId: "one" });
    gate.resolve();
    await settled();
    expect(hq.told("one").length).toBeLessThan(100);
    expect(hq.told("one").at(-1)).toBe("session-exit");
  });
});

describe("after a cut of the uplink", () => {
  test("the list is read anew, and that something changed is told", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a", ["one"]);
    machine.sessions.delete("one");
    machine.add("two");
    machine.announce({ type: "connected", timestamp: "" });
    await settled();
    expect(await hq.ids()).toEqual(["two"]);
    expect(hq.told()).toEqual(["remote-joined", "session-changed"]);
  });

  test("nothing is told where nothing changed", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a", ["one"]);
    machine.announce({ type: "connected", timestamp: "" });
    await settled();
    expect(hq.told()).toEqual(["remote-joined"]);
  });

  describe("a session in whose place there is another one by then", () => {
    const LATER = "2031-01-01T00:00:00.000Z";
    const removed = (hq: MemoryFleet): readonly (string | undefined)[] =>
      hq.events.filter(({ type }) => type === "session-removed").map(({ sessionId }) => sessionId);

    test("is told to be removed, and the other one is in the list", async () => {
      await using hq = await MemoryFleet.of();
      const machine = await hq.join("a", ["one", "two"]);
      replace(machine, "one", LATER);
      machine.announce({ type: "connected", timestamp: "" });
      await settled();
      expect(removed(hq)).toEqual(["one"]);
      expect(await hq.ids()).toEqual(["one", "two"]);
    });

    test("is told to be removed where it was watched, though the list was read during the cut", async () => {
      await using hq = await MemoryFleet.of();
      const machine = await hq.join("a", ["one", "two"]);
      using _subscription = await hq.fleet.subscribe("one", () => undefined);
      replace(machine, "one", LATER);
      await hq.fleet.refresh("a");
      machine.announce({ type: "connected", timestamp: "" });
      await settled();
      expect(removed(hq)).toEqual(["one"]);
    });

    test("is told to be removed, though the other one was heard of before the list was read", async () => {
      await using hq = await MemoryFleet.of();
      const machine = await hq.join("a", ["one", "two"]);
      replace(machine, "one", LATER);
      const list = Promise.withResolvers<void>();
      machine.gate = list.promise;
      machine.announce({ type: "connected", timestamp: "" });
      await settled();
      machine.gate = Promise.resolve();
      machine.announce({ type: "session-changed", timestamp: "", sessionId: "one" });
      await settled();
      list.resolve();
      await settled();
      expect(removed(hq)).toEqual(["one"]);
    });
  });
});

describe("a machine that joins", () => {
  test("is told when its sessions are in the list", async () => {
    await using hq = await MemoryFleet.of();
    const machine = hq.machine("http://a.test");
    const gate = Promise.withResolvers<void>();
    machine.gate = gate.promise;
    await hq.join("a", ["one"]);
    expect(hq.told()).toEqual([]);
    gate.resolve();
    await settled();
    expect(hq.told()).toEqual(["remote-joined"]);
    expect(await hq.ids()).toEqual(["one"]);
  });

  test("and refreshes its registration is told once, and another address is taken over", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a", ["one"]);
    await hq.registry.register({ id: "id-of-a", name: "a", url: "http://new.test", token: "new" });
    await settled();
    expect(hq.told()).toEqual(["remote-joined"]);
    expect(machine.targets.at(-1)).toEqual({ url: "http://new.test", headers: { authorization: "new" } });
    expect((await hq.fleet.list())[0]?.remoteUrl).toBe("http://new.test");
  });

  test("and leaves is told, and joins again as the same one", async () => {
    await using hq = await MemoryFleet.of();
    await hq.join("a", ["one"]);
    await hq.registry.remove("id-of-a");
    await hq.join("a");
    expect(hq.told()).toEqual(["remote-joined", "remote-left", "remote-joined"]);
    expect(hq.events.map(({ remoteId, remoteName }) => [remoteId, remoteName])).toEqual(
      Array.from({ length: 3 }, () => ["id-of-a", "a"]),
    );
    expect(await hq.ids()).toEqual(["one"]);
  });
});

describe("a session that is watched when its machine leaves", () => {
  test("is out of the list, refuses input as unreachable, and goes on when the machine is back", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a", ["one"]);
    const got: Delivery[] = [];
    const subscription = await hq.fleet.subscribe("one", (delivery) => got.push(delivery));
    machine.memory.command = () => Promise.reject(new ServiceError("host_unreachable", "disconnected"));
    await hq.registry.remove("id-of-a");
    expect(await hq.ids()).toEqual([]);
    await expect(hq.fleet.write("one", new Uint8Array(1))).rejects.toMatchObject({
      code: "remote_unreachable",
    });
    await hq.registry.register({ id: "new-id", name: "a", url: "http://a.test", token: "new" });
    await settled();
    expect(machine.isDisposed).toBe(false);
    expect((await hq.fleet.list())[0]).toMatchObject({ id: "one", remoteId: "new-id" });
    machine.sessions.get("one")?.print("more");
    expect(got).toMatchObject([{ kind: "output", offset: 0 }]);
    subscription[Symbol.dispose]();
    expect(machine.isDisposed).toBe(false);
  });

  test("is given up with its last viewer, and its id is free", async () => {
    await using hq = await MemoryFleet.of();
    const machine = await hq.join("a", ["one"]);
    const subscription = await hq.fleet.subscribe("one", () => {});
    await hq.registry.remove("id-of-a");
    subscription[Symbol.dispose]();
    expect(machine.isDisposed).toBe(true);
    await hq.join("b", ["one"]);
    expect((await hq.fleet.get("one")).source).toBe("b");
  });
});

/** Another session has its id from then on. */
function replace(machine: MemoryMachine, sessionId: string, created: string): void {
  const session = machine.sessions.get(sessionId);
  if (session !== undefined) session.created = created;
}
