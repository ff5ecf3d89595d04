import { expect, test } from "vitest";
import { MemoryFleet, settled } from "./memory-fleet.ts";

test("the list is the same one until something changes, and what has not changed stays the same object in it", async () => {
  await using hq = await MemoryFleet.of();
  await hq.join("a", ["one"]);
  const before = await hq.fleet.list();
  await hq.fleet.refresh("a");
  expect(await hq.fleet.list()).toBe(before);
  await hq.join("b", ["two"]);
  const after = await hq.fleet.list();
  expect(after).toHaveLength(2);
  expect(after.find(({ id }) => id === "one")).toBe(before[0]);
});

test("a machine that comes back while somebody watches has the sessions that it had in the list again", async () => {
  await using hq = await MemoryFleet.of();
  await hq.join("a", ["one"]);
  using _watching = await hq.fleet.subscribe("one", () => {});
  await hq.registry.remove("id-of-a");
  expect(await hq.ids()).toEqual([]);
  await hq.join("a");
  expect(await hq.ids()).toEqual(["one"]);
});

test("the sessions that run are counted as they are listed: one that two machines have once", async () => {
  await using hq = await MemoryFleet.of();
  await hq.join("a", ["one", "same"]);
  await hq.join("b", ["two", "same"]);
  const running = async (): Promise<number> =>
    (await hq.fleet.list()).filter(({ status }) => status === "running").length;
  expect(hq.fleet.running).toBe(3);
  await hq.registry.remove("id-of-a");
  await settled();
  expect(await hq.ids()).toEqual(["same", "two"]);
  expect(hq.fleet.running).toBe(await running());
});
