import { expect, test } from "vitest";
import { ExpiringMap, keepAnswer } from "../../../../src/lib/data/expiring-map.ts";

function clockedMap(maxEntries = 3) {
  const clock = { ms: 0 };
  return {
    clock,
    map: new ExpiringMap<string, number>({ lifetimeMs: 100, maxEntries, now: () => clock.ms }),
  };
}

test("an entry lives exactly as long as its lifetime", () => {
  const { clock, map } = clockedMap();
  map.set("a", 1);
  clock.ms = 99;
  expect(map.get("a")).toBe(1);
  clock.ms = 100;
  expect(map.get("a")).toBeUndefined();
  expect(map.values()).toEqual([]);
});

test("the values are those of live entries, the oldest first", () => {
  const { clock, map } = clockedMap();
  map.set("a", 1);
  map.set("b", 2);
  clock.ms = 60;
  map.set("a", 3);
  expect(map.values()).toEqual([2, 3]);
  clock.ms = 100;
  expect(map.values()).toEqual([3]);
  map.clear();
  expect(map.values()).toEqual([]);
});

test("setting an entry again gives it a new lifetime", () => {
  const { clock, map } = clockedMap();
  map.set("a", 1);
  clock.ms = 60;
  map.set("a", 2);
  clock.ms = 120;
  expect(map.get("a")).toBe(2);
});

test("over the limit only the oldest entry is dropped", () => {
  const { map } = clockedMap(3);
  for (const key of ["a", "b", "c"]) map.set(key, 0);
  map.set("a", 1);
  map.set("d", 0);
  expect(["a", "b", "c", "d"].filter((key) => map.get(key) !== undefined)).toEqual(["a", "c", "d"]);
});

test("setting an entry again in a full map drops none", () => {
  const { map } = clockedMap(2);
  map.set("a", 1);
  map.set("b", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
});

test("an expired entry makes room before a living one", () => {
  const { clock, map } = clockedMap(2);
  map.set("old", 0);
  clock.ms = 50;
  map.set("young", 0);
  clock.ms = 110;
  map.set("new", 0);
  expect(map.get("young")).toBe(0);
});

test("an entry can be taken once", () => {
  const { map } = clockedMap();
  map.set("a", 1);
  expect(map.take("a")).toBe(1);
  expect(map.take("a")).toBeUndefined();
});

test("an answer that fails is not kept, and does not take a later one with it", async () => {
  const map = new ExpiringMap<string, Promise<number>>({ lifetimeMs: 100, maxEntries: 3, now: () => 0 });
  const early = Promise.withResolvers<number>();
  const refused = keepAnswer(map, "a", early.promise);
  const later = keepAnswer(map, "a", Promise.resolve(2));
  early.reject(new Error("no"));
  await expect(refused).rejects.toThrow("no");
  expect(map.get("a")).toBe(later);
  await expect(keepAnswer(map, "b", Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(map.get("b")).toBeUndefined();
});
