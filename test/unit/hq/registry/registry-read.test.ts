// A registry whose store was out of reach and is back: the registry checks remotes that the store has lost.
import { expect, test } from "vitest";
import {
  Registry,
  type RegistryStore,
  type RegistryStoreChange,
} from "../../../../src/hq/registry/registry.ts";
import type { DownRemote } from "../../../../src/hq/remote-state.ts";
import { Emitter } from "../../../../src/lib/async/emitter.ts";
import { settled } from "../memory-fleet.ts";
import { registration } from "../memory-store.ts";

const THEN = "2026-01-01T00:00:00.000Z";
const LATER = "2026-01-01T00:01:00.000Z";
const a = { ...registration("a"), registeredAt: THEN, lastHeartbeat: THEN };

/** It has "a", which its store has lost, and waits for the answer of "a". */
async function asking(down: readonly DownRemote[] = []) {
  const changes = new Emitter<RegistryStoreChange>();
  const stored: string[] = [];
  const store: RegistryStore = {
    isConnected: true,
    load: async () => changes.emit({ kind: "read", remotes: [{ remote: a, version: "1" }], down: [] }),
    put: async ({ id }) => void stored.push(id),
    remove: async () => {},
    watch: (listener) => changes.on(listener),
  };
  const answer = Promise.withResolvers<boolean>();
  const registry = await Registry.open({
    ...{ store, isAlive: () => answer.promise, now: () => new Date(LATER) },
  });
  changes.emit({ kind: "read", remotes: [], down });
  const answered = async (isAlive: boolean): Promise<void> => {
    answer.resolve(isAlive);
    await settled();
  };
  return { registry, stored, answered, tell: (change: RegistryStoreChange) => changes.emit(change) };
}

test("a machine that does not answer is given up", async () => {
  const { registry, stored, answered } = await asking();
  await answered(false);
  expect([registry.size, stored]).toEqual([0, []]);
});

test("a machine that another HQ removed because it did not answer is down, unless it answers", async () => {
  const since = new Date(Date.parse(LATER) - 5_000).toISOString();
  const silent = await asking([{ name: "a", since }]);
  await silent.answered(false);
  expect([silent.registry.size, silent.registry.down]).toEqual([0, [{ name: "a", forMs: 5_000 }]]);
  const alive = await asking([{ name: "a", since }]);
  await alive.answered(true);
  expect([alive.registry.size, alive.registry.down]).toEqual([1, []]);
});

test("a machine that answers is stored again", async () => {
  const { registry, stored, answered } = await asking();
  await answered(true);
  expect([registry.size, stored]).toEqual([1, ["id-of-a"]]);
});

test("a machine that another HQ heard of while it was asked is not given up, though it does not answer", async () => {
  const { registry, answered, tell } = await asking();
  tell({ kind: "stored", remote: { ...a, lastHeartbeat: LATER }, version: "2" });
  await answered(false);
  expect(registry.remotes).toMatchObject([{ id: "id-of-a", lastHeartbeat: LATER }]);
});

test("a machine that was heard of here while it was asked is not given up, though it does not answer", async () => {
  const { registry, stored, answered } = await asking();
  registry.seen("id-of-a");
  await answered(false);
  expect([registry.size, stored]).toEqual([1, ["id-of-a"]]);
});

test("a machine that leaves while it is asked is gone, though it answers", async () => {
  const { registry, stored, answered } = await asking();
  await registry.remove("id-of-a");
  expect(registry.size).toBe(0);
  await answered(true);
  expect([registry.size, stored]).toEqual([0, []]);
});
