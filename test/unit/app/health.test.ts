import { expect, test } from "vitest";
import { healthOf } from "../../../src/app/health.ts";

test("concurrent health requests list the sessions once", async () => {
  const lists: (() => void)[] = [];
  const list = async (): Promise<[]> => {
    await new Promise<void>((resolve) => lists.push(resolve));
    return [];
  };
  const health = healthOf({ list }, { version: "1", mode: "standalone", instanceId: "a" });
  const strangers = Array.from({ length: 50 }, () => health());
  expect(lists).toHaveLength(1);
  lists[0]?.();
  expect((await Promise.all(strangers)).map(({ sessions }) => sessions)).toEqual(Array(50).fill(0));
  void health();
  expect(lists).toHaveLength(2);
  lists[1]?.();
});
