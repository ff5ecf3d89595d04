import { expect, test } from "vitest";
import { Tally } from "../../../../src/lib/data/tally.ts";

test("each kind is counted, and expected kinds start at 0", () => {
  const tally = new Tally("method", "result").expecting(["link", "ok"]);
  tally.add("password", "ok");
  tally.add("password", "ok");
  tally.add("password", "refused");
  expect([...tally]).toEqual([
    [{ method: "link", result: "ok" }, 0],
    [{ method: "password", result: "ok" }, 2],
    [{ method: "password", result: "refused" }, 1],
  ]);
});

test("kinds beyond the limit are counted as one", () => {
  const tally = new Tally("path");
  for (let index = 0; index < 3_000; index++) tally.add(`${index}`);
  const counts = new Map([...tally].map(([{ path }, count]) => [path, count]));
  expect([counts.size, counts.get("1"), counts.get("other")]).toEqual([2_001, 1, 1_000]);
});
