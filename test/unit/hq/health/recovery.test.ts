import { expect, test } from "vitest";
import { HealthCheck } from "../../../../src/hq/health/health-check.ts";
import type { Registry } from "../../../../src/hq/registry/registry.ts";
import { DOWN_REMOTE_MEMORY_MS, MAX_DOWN_REMOTES } from "../../../../src/protocol/limits.ts";
import { settled } from "../memory-fleet.ts";
import { expire, MemoryStore, memoryRegistry, registration } from "../memory-store.ts";

/** All of these remotes were removed because they did not answer; those with a name in `here` answer by now. */
async function removed(...names: readonly string[]) {
  const clock = { ms: Date.parse("2026-01-01T00:00:00.000Z") };
  const here = new Set<string>();
  const asked: string[] = [];
  const registry = await memoryRegistry({
    now: () => new Date(clock.ms),
    isAlive: async ({ name }) => {
      asked.push(name);
      return here.has(name);
    },
  });
  for (const name of names) {
    await registry.register(registration(name));
    await expire(registry, name);
  }
  return { registry, clock, here, asked };
}

function namesOf(registry: Registry): readonly string[] {
  return registry.remotes.map(({ name }) => name);
}

test("a removed remote that answers again is registered as before", async () => {
  const stage = await removed("a", "b");
  const { registry, here, asked } = stage;
  await registry.recover();
  expect(namesOf(registry)).toEqual([]);
  here.add("a");
  await registry.recover();
  expect(registry.remotes).toMatchObject([registration("a")]);
  expect(registry.down.map(({ name }) => name)).toEqual(["b"]);
  asked.length = 0;
  await registry.recover();
  expect(asked).toEqual(["b"]);
});

test("a remote that returned by itself, or whose name was taken, is not restored", async () => {
  const stage = await removed("a", "b");
  const { registry, here } = stage;
  const a = await registry.register(registration("a", { url: "http://new.test" }));
  const b = await registry.register(registration("b", { id: "another", url: "http://other.test" }));
  for (const name of ["a", "b"]) here.add(name);
  await registry.recover();
  expect(registry.remotes).toEqual([a, b]);
});

test("a forgotten remote leaves and is not restored when it answers", async () => {
  const { registry, here } = await removed("down");
  await registry.register(registration("up"));
  for (const name of ["down", "up", "nobody"]) await registry.forget(name);
  expect(namesOf(registry)).toEqual([]);
  for (const name of ["down", "up"]) here.add(name);
  await registry.recover();
  expect(namesOf(registry)).toEqual([]);
});

test("remotes are checked only while they are remembered, and at most a limited number", async () => {
  const names = Array.from({ length: MAX_DOWN_REMOTES + 2 }, (_, index) => `m${index}`);
  const stage = await removed(...names);
  const { registry, clock, asked } = stage;
  await registry.recover();
  expect(asked).toEqual(names.slice(2));
  clock.ms += DOWN_REMOTE_MEMORY_MS;
  await registry.recover();
  expect(asked).toHaveLength(MAX_DOWN_REMOTES);
});

test("a slow remote is not checked twice at once and does not delay others", async () => {
  const slow = Promise.withResolvers<boolean>();
  let questions = 0;
  const registry = await memoryRegistry({
    isAlive: async ({ name }) => {
      questions += 1;
      return name === "slow" ? await slow.promise : true;
    },
  });
  for (const name of ["slow", "quick"]) {
    await registry.register(registration(name));
    await expire(registry, name);
  }
  const first = registry.recover();
  await registry.recover();
  await new Promise(setImmediate);
  expect([questions, namesOf(registry)]).toEqual([2, ["quick"]]);
  slow.resolve(true);
  await first;
  expect(namesOf(registry)).toEqual(["quick", "slow"]);
});

test("above the limit the remote that went down first is forgotten", async () => {
  const { registry } = await removed(...Array.from({ length: MAX_DOWN_REMOTES + 1 }, (_, n) => `m${n}`));
  const names = registry.down.map(({ name }) => name);
  expect(names).toHaveLength(MAX_DOWN_REMOTES);
  expect([names[0], names.at(-1)]).toEqual(["m1", `m${MAX_DOWN_REMOTES}`]);
});

test("a remote that answers before its removal is done is checked again afterwards", async () => {
  const store = new MemoryStore();
  let isHere = false;
  const isAlive = async (): Promise<boolean> => isHere;
  const registry = await memoryRegistry({ store, isAlive });
  await registry.register(registration("a"));
  const done = Promise.withResolvers<void>();
  store.disk = done.promise;
  using check = new HealthCheck({ registry, isAlive, onDown: () => {}, onAlive: () => {} });
  const checking = check.check();
  await settled();
  expect(store.saves).toBe(2);
  isHere = true;
  await registry.recover();
  done.resolve();
  await checking;
  await registry.recover();
  expect(namesOf(registry)).toEqual(["a"]);
});
