// A registry whose store was out of reach and is back: the registry checks remotes that the store has lost.
import { expect, test } from "vitest";
import { Registry } from "../../../../src/hq/registry/registry.ts";
import { SealedTable } from "../../../../src/hq/registry/tables.ts";
import { NO_TEXTS, TablesFile } from "../../../../src/hq/registry/tables-file.ts";
import { RegistryEntry } from "../../../../src/hq/remote-state.ts";
import { settled } from "../memory-fleet.ts";
import { expire, MemoryStore, registration, SEAL } from "../memory-store.ts";

const THEN = "2026-01-01T00:00:00.000Z";
const LATER = "2026-01-01T00:01:00.000Z";
const a = { ...registration("a"), registeredAt: THEN, lastHeartbeat: THEN };

/** It has "a", which its store has lost or marked as down, and waits for the answer of "a". */
async function asking(downSince?: string) {
  const store = new MemoryStore();
  const tables = new TablesFile({ file: store });
  const table = new SealedTable(tables, SEAL, "remotes", RegistryEntry);
  /** As another HQ of the same registry does it. */
  const tell = async (entry: RegistryEntry | undefined): Promise<void> => {
    expect(await tables.commit([table.change("a", await tables.get("remotes", "a"), entry)])).toBe(true);
  };
  await tell({ remote: a });
  const answer = Promise.withResolvers<boolean>();
  const now = () => new Date(LATER);
  const registry = await Registry.open({ tables, seal: SEAL, isAlive: () => answer.promise, now });
  const { after = "" } = table.change("a", undefined, downSince === undefined ? undefined : { downSince });
  store.texts = { ...NO_TEXTS, remotes: new Map(after === "" ? [] : [["a", after]]) };
  await tables.load();
  const answered = async (isAlive: boolean): Promise<void> => {
    answer.resolve(isAlive);
    await settled();
  };
  return { registry, answered, tell, stored: () => store.remotes.map(({ id }) => id) };
}

test("a remote that does not answer is removed", async () => {
  const { registry, stored, answered } = await asking();
  await answered(false);
  expect([registry.size, stored()]).toEqual([0, []]);
});

test("a remote that another HQ removed is down unless it answers", async () => {
  const since = new Date(Date.parse(LATER) - 5_000).toISOString();
  const silent = await asking(since);
  await silent.answered(false);
  expect([silent.registry.size, silent.registry.down]).toEqual([
    0,
    [{ name: "a", since: expect.any(String), forMs: 5_000 }],
  ]);
  const alive = await asking(since);
  await alive.answered(true);
  expect([alive.registry.size, alive.registry.down]).toEqual([1, []]);
});

test("a remote that is down and has registered at another HQ under another name keeps that name", async () => {
  const tables = new TablesFile({ file: new MemoryStore() });
  const table = new SealedTable(tables, SEAL, "remotes", RegistryEntry);
  const now = () => new Date(LATER);
  const registry = await Registry.open({ tables, seal: SEAL, isAlive: async () => true, now });
  await registry.register(registration("a"));
  await expire(registry, "a");
  expect(await tables.commit([table.change("b", undefined, { remote: { ...a, name: "b" } })])).toBe(true);
  await registry.recover();
  await settled();
  expect(registry.remotes.map(({ name }) => name)).toEqual(["b"]);
  expect(registry.down).toEqual([]);
});

test("a remote that answers is stored again", async () => {
  const { registry, stored, answered } = await asking();
  await answered(true);
  expect([registry.size, stored(), registry.unstored]).toEqual([1, ["id-of-a"], 0]);
});

test("a silent remote stays if another HQ heard of it during the check", async () => {
  const { registry, answered, tell } = await asking();
  await tell({ remote: { ...a, lastHeartbeat: LATER } });
  await answered(false);
  expect(registry.remotes).toMatchObject([{ id: "id-of-a", lastHeartbeat: LATER }]);
});

test("a silent remote stays if this HQ heard of it during the check", async () => {
  const { registry, stored, answered } = await asking();
  registry.seen("id-of-a");
  await answered(false);
  expect([registry.size, stored()]).toEqual([1, ["id-of-a"]]);
});

test("a remote that leaves during its check is gone although it answers", async () => {
  const { registry, stored, answered } = await asking();
  await registry.remove("id-of-a");
  expect(registry.size).toBe(0);
  await answered(true);
  expect([registry.size, stored()]).toEqual([0, []]);
});

test.each([{ cordoned: true }, { labels: { gpu: "true" } }, { registeredByKey: true }])(
  "a remote that registered with %j at another HQ while the store was unreachable has it here",
  async (change) => {
    const store = new MemoryStore();
    const tables = new TablesFile({ file: store });
    const table = new SealedTable(tables, SEAL, "remotes", RegistryEntry);
    await tables.commit([table.change("a", undefined, { remote: a })]);
    const parts = { tables, seal: SEAL, isAlive: async () => true, now: () => new Date(LATER) };
    const registry = await Registry.open(parts);
    const { after = "" } = table.change("a", undefined, { remote: { ...a, ...change } });
    store.texts = { ...NO_TEXTS, remotes: new Map([["a", after]]) };
    await tables.load();
    expect(registry.remotes).toMatchObject([{ name: "a", ...change }]);
  },
);
