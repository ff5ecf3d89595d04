import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { RequestQueue } from "../../../../src/app/listeners/listeners.ts";

test("many requests of one address delay those of another by one", async () => {
  const queue = new RequestQueue();
  const begun: string[] = [];
  for (const name of ["a1", "a2", "a3", "b1", "c1", "b2"])
    queue.add(name.charAt(0), () => void begun.push(name));
  expect(begun).toEqual([]);
  await nextTurn();
  expect(begun).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
});

test("only a few requests begin in a turn, including requests that others cause", async () => {
  const queue = new RequestQueue();
  const begun: string[] = [];
  const begin = (): void => {
    begun.push("a");
    if (begun.length <= 20) queue.add("b", () => void begun.push("b"));
  };
  for (let count = 0; count < 100; count += 1) queue.add("a", begin);
  const sizes: number[] = [];
  for (let turn = 0; turn < 16; turn += 1) {
    const before = begun.length;
    await nextTurn();
    sizes.push(begun.length - before);
  }
  expect(Math.max(...sizes)).toBe(8);
  expect(begun.filter((name) => name === "a")).toHaveLength(100);
});
