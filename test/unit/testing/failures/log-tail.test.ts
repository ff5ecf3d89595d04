import { expect, test } from "vitest";
import { LogTail } from "../../../../packages/testing/src/failures/log-tail.ts";

test("the last megabyte is held", () => {
  const log = new LogTail();
  for (let piece = 0; piece < 40; piece++) log.append(String(piece % 10).repeat(100_000));
  expect(log.text).toHaveLength(1024 * 1024);
  expect(log.text.endsWith("89".slice(1).repeat(100_000))).toBe(true);
});

test("the last lines are told under a title, and nothing where there are none", () => {
  const log = new LogTail();
  expect(log.last(2, "hq")).toBe("");
  log.append("one\ntw");
  log.append("o\nthree\n");
  expect(log.last(2, "hq")).toBe("last lines of hq:\n  two\n  three");
});
