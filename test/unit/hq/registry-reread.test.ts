// A registry whose ledger was out of reach and is back: what it has not, the registry asks before it gives it up.
import { expect, test } from "vitest";
import { Registry, type RegistryStore, type RegistryStoreChange } from "../../../src/hq/registry/registry.ts";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import { settled } from "./memory-fleet.ts";
import { registration } from "./memory-store.ts";

const THEN = "2026-01-01T00:00:00.000Z";
const LATER = "2026-01-01T00:01:00.000Z";
const a = { ...registration("a"), registeredAt: THEN, lastHeartbeat: THEN };

/** It has "a" in it, which the ledger has not any more, and waits for its answer. */
async function asking() {
  const changes = new Emitter<RegistryStoreChange>();
  const kept: string[] = [];
  const ledger: RegistryStore = {
    ...{ load: async () => [a], silent: [], isConnected: true },
    put: async ({ id }) => void kept.push(id),
    drop: async () => {},
    watch: (listener) => changes.on(listener),
  };
  const answer = Promise.withResolvers<boolean>();
  const registry = await Registry.open({
    ...{ ledger, isAlive: () => answer.promise, now: () => new Date(LATER) },
  });
  changes.emit({ kind: "reread", remotes: [] });
  const answered = async (isAlive: boolean): Promise<void> => {
    answer.resolve(isAlive);
    await settled();
  };
  return { registry, kept, answered, tell: (change: RegistryStoreChange) => changes.emit(change) };
}

test("a machine that does not answer is given up", async () => {
  const { registry, kept, answered } = await asking();
  await answered(false);
  expect([registry.size, kept]).toEqual([0, []]);
});

test("a machine that answers is told to the ledger", async () => {
  const { registry, kept, answered } = await asking();
  await answered(true);
  expect([registry.size, kept]).toEqual([1, ["id-of-a"]]);
});

test("a machine that another HQ heard of while it was asked is not given up, though it does not answer", async () => {
  const { registry, answered, tell } = await asking();
  tell({ kind: "kept", remote: { ...a, lastHeartbeat: LATER } });
  await answered(false);
  expect(registry.remotes).toMatchObject([{ id: "id-of-a", lastHeartbeat: LATER }]);
});

test("a machine that was heard of here while it was asked is not given up, though it does not answer", async () => {
  const { registry, kept, answered } = await asking();
  registry.seen("id-of-a");
  await answered(false);
  expect([registry.size, kept]).toEqual([1, ["id-of-a"]]);
});

test("a machine that leaves while it is asked is gone, though it answers", async () => {
  const { registry, kept, answered } = await asking();
  await registry.remove("id-of-a");
  expect(registry.size).toBe(0);
  await answered(true);
  expect([registry.size, kept]).toEqual([0, []]);
});
