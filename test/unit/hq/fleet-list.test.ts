import { expect, test } from "vitest";
import { MemoryFleet, settled } from "./memory-fleet.ts";

test("the list is the same array until a change, and unchanged records stay the same objects", async () => {
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

test("a remote that returns while its session has a viewer is listed with its former sessions", async () => {
  await using hq = await MemoryFleet.of();
  await hq.join("a", ["one"]);
  using _watching = await hq.fleet.subscribe("one", () => {});
  await hq.registry.remove("id-of-a");
  expect(await hq.ids()).toEqual([]);
  await hq.join("a");
  expect(await hq.ids()).toEqual(["one"]);
});

test("running sessions are counted as listed: once if two remotes have the same id", async () => {
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
