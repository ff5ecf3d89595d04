import { describe, expect, test } from "vitest";
import type { RegistryChange } from "../../../../src/hq/registry/registry.ts";
import { settled } from "../memory-fleet.ts";
import { expire, MemoryStore, memoryRegistry, registration } from "../memory-store.ts";

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "success",
    (error: { code?: unknown }) => error.code,
  );

describe("a registration", () => {
  test("adds a remote and reports it", async () => {
    const registry = await memoryRegistry();
    const changes: RegistryChange[] = [];
    registry.watch((change) => changes.push(change));
    const remote = await registry.register(registration("a"));
    expect(remote).toEqual({
      ...registration("a"),
      registeredAt: "1970-01-01T00:00:01.000Z",
      refreshedAt: "1970-01-01T00:00:01.000Z",
      lastHeartbeat: "1970-01-01T00:00:01.000Z",
    });
    expect(registry.remotes).toEqual([remote]);
    expect([registry.byId(remote.id), registry.byName("a")]).toEqual([remote, remote]);
    expect(changes).toEqual([{ kind: "joined", remote }]);
  });

  test("of the same id refreshes in place", async () => {
    const registry = await memoryRegistry();
    const { registeredAt } = await registry.register(registration("a"));
    const changes: RegistryChange[] = [];
    registry.watch((change) => changes.push(change));
    const again = await registry.register(registration("a", { url: "http://new.test", token: "new" }));
    expect(again).toMatchObject({ registeredAt, url: "http://new.test", token: "new" });
    expect(again.lastHeartbeat > registeredAt).toBe(true);
    expect(changes).toEqual([{ kind: "refreshed", remote: again }]);
    expect(registry.size).toBe(1);
  });

  test("of the same id under another name is reported as another remote", async () => {
    const registry = await memoryRegistry();
    await registry.register(registration("a"));
    const changes: RegistryChange[] = [];
    registry.watch((change) => changes.push(change));
    await registry.register(registration("b", { id: "id-of-a" }));
    expect(changes.map(({ kind, remote }) => [kind, remote.name])).toEqual([
      ["left", "a"],
      ["joined", "b"],
    ]);
    expect(registry.remotes.map(({ name }) => name)).toEqual(["b"]);
  });

  test("under another name of a remote that is down replaces it, also while the disk is full", async () => {
    const store = new MemoryStore();
    const registry = await memoryRegistry({ store, isAlive: async () => true });
    await registry.register(registration("a"));
    await expire(registry, "a");
    store.disk = Promise.reject(new Error("disk full"));
    await registry.register(registration("b", { id: "id-of-a" }));
    await registry.recover();
    await settled();
    expect(registry.remotes.map(({ name }) => name)).toEqual(["b"]);
    expect(registry.down).toEqual([]);
  });

  test("of a name whose holder answers is refused and changes nothing", async () => {
    const registry = await memoryRegistry({ isAlive: async () => true });
    const holder = await registry.register(registration("a"));
    expect(await codeOf(registry.register(registration("a", { id: "other" })))).toBe("remote_name_taken");
    expect(registry.remotes).toEqual([holder]);
  });

  test("of a name whose holder is dead takes its place", async () => {
    const registry = await memoryRegistry();
    await registry.register(registration("a"));
    await registry.register(registration("a", { id: "other" }));
    expect(registry.remotes.map(({ id }) => id)).toEqual(["other"]);
  });

  test("keeps a holder that registered again during its check", async () => {
    const answers = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
    const asked: string[] = [];
    const registry = await memoryRegistry({
      isAlive: (remote) => {
        asked.push(remote.token);
        return answers[asked.length - 1]?.promise ?? Promise.resolve(true);
      },
    });
    await registry.register(registration("a"));
    const rival = codeOf(registry.register(registration("a", { id: "other" })));
    await registry.register(registration("a", { token: "new" }));
    answers[0]?.resolve(false);
    answers[1]?.resolve(true);
    expect(await rival).toBe("remote_name_taken");
    expect(asked).toEqual(["token-of-a", "new"]);
    expect(registry.remotes.map(({ id, token }) => [id, token])).toEqual([["id-of-a", "new"]]);
  });

  test("of a dead holder's name by many at once succeeds for one", async () => {
    const registry = await memoryRegistry({ isAlive: async ({ id }) => id !== "id-of-a" });
    await registry.register(registration("a"));
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        codeOf(registry.register(registration("a", { id: `new-${index}` }))),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "success")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "remote_name_taken")).toHaveLength(9);
    expect(registry.size).toBe(1);
  });

  test("of a free name by many at once succeeds for one", async () => {
    const registry = await memoryRegistry({ isAlive: async () => true });
    const outcomes = await Promise.all(
      ["x", "y", "z"].map((id) => codeOf(registry.register(registration("a", { id })))),
    );
    expect(outcomes).toEqual(["success", "remote_name_taken", "remote_name_taken"]);
  });
});

describe("a removal", () => {
  test("is reported and frees the name", async () => {
    const registry = await memoryRegistry({ isAlive: async () => true });
    const remote = await registry.register(registration("a"));
    const changes: RegistryChange[] = [];
    registry.watch((change) => changes.push(change));
    await registry.remove(remote.id);
    expect(changes).toEqual([{ kind: "left", remote }]);
    await registry.register(registration("a", { id: "other" }));
    expect(registry.remotes.map(({ id }) => id)).toEqual(["other"]);
  });

  test("of an unknown id is remote_not_found", async () => {
    const registry = await memoryRegistry();
    expect(await codeOf(registry.remove("nobody"))).toBe("remote_not_found");
  });
});

test("a sign of life counts for a registered remote only", async () => {
  const registry = await memoryRegistry();
  const { id, lastHeartbeat } = await registry.register(registration("a"));
  registry.seen(id);
  registry.seen("nobody");
  expect((registry.byId(id)?.lastHeartbeat ?? "") > lastHeartbeat).toBe(true);
  expect(registry.size).toBe(1);
});

describe("the stored registry", () => {
  test("is read when the registry is opened again", async () => {
    const store = new MemoryStore();
    const first = await memoryRegistry({ store });
    for (const name of ["a", "b", "c"]) await first.register(registration(name));
    await first.remove("id-of-b");
    const second = await memoryRegistry({ store });
    expect(second.remotes.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(second.remotes).toEqual(first.remotes);
  });

  test("has a thousand concurrent registrations after a few writes", async () => {
    const store = new MemoryStore();
    const registry = await memoryRegistry({ store });
    const names = Array.from({ length: 1000 }, (_, index) => `machine-${index}`);
    await Promise.all(names.map((name) => registry.register(registration(name))));
    expect(store.remotes.map(({ name }) => name)).toEqual(names);
    expect(store.saves).toBeLessThanOrEqual(3);
  });

  test("has a registration before the registration is answered", async () => {
    const store = new MemoryStore();
    const disk = Promise.withResolvers<void>();
    const registry = await memoryRegistry({ store });
    await registry.register(registration("a"));
    store.disk = disk.promise;
    let isAnswered = false;
    const answer = registry.register(registration("b")).then(() => {
      isAnswered = true;
    });
    await new Promise(setImmediate);
    expect(isAnswered).toBe(false);
    disk.resolve();
    await answer;
    expect(store.remotes).toHaveLength(2);
  });

  test("stays as it is while the disk is full, which is reported", async () => {
    const failures: unknown[] = [];
    const store = new MemoryStore();
    store.disk = Promise.reject(new Error("disk full"));
    const registry = await memoryRegistry({ store, onSaveFailure: (error) => failures.push(error) });
    await registry.register(registration("a"));
    expect(registry.size).toBe(1);
    expect(failures).toEqual([new Error("disk full")]);
  });
});
