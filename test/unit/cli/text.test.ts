import { describe, expect, test } from "vitest";
import { clipped, displayWidth, duration, printable, table } from "../../../src/cli/text.ts";

test("columns are aligned, and wide characters count as two", () => {
  const lines = table(
    ["ID", "NAME", "STATUS"],
    [
      ["1", "日本", "running"],
      ["22", "build", "exited 0"],
    ],
  );
  expect(lines).toBe("ID  NAME   STATUS\n1   日本   running\n22  build  exited 0\n");
});

test("lines wider than the terminal are cut", () => {
  expect(table(["NAME", "COMMAND"], [["a", "make -j8 all"]], 12)).toBe("NAME  COMMA…\na     make …\n");
});

test("a cell of a million characters makes the other lines only a thousand columns wide", () => {
  const rows = [["é".repeat(1_000_000), "up"], ...Array.from({ length: 600 }, () => ["build", "up"])];
  const lines = table(["NAME", "STATUS"], rows).split("\n");
  expect(lines[1]).toBe(`${"é".repeat(999)}…  up`);
  expect(lines[2]).toBe(`${"build".padEnd(1_000)}  up`);
});

test("there may be more lines than a call has arguments", () => {
  const rows = Array.from({ length: 200_000 }, () => ["build"]);
  expect(table(["NAME"], rows)).toHaveLength("build\n".length * rows.length + "NAME\n".length);
});

test("only the widest flexible columns are cut", () => {
  const rows = [["7f3a", "a name that is rather long", "exited SIGKILL", "make -j8 all"]];
  const headings = ["ID", "NAME", "STATUS", "COMMAND"];
  expect(table(headings, rows, 50, ["NAME", "COMMAND"]).split("\n")).toEqual([
    "ID    NAME            STATUS          COMMAND",
    "7f3a  a name that i…  exited SIGKILL  make -j8 all",
    "",
  ]);
});

describe("text", () => {
  test("cannot contain control sequences", () => {
    expect(printable("a\x1b]0;x\x07\u009bm\u202eb\n")).toBe("a\\x1b]0;x\\x07\\x9bm\\u{202e}b\\x0a");
  });

  test.each([
    ["abc", 3],
    ["日本", 4],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["", 0],
  ])("%s takes %i columns", (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  test("is cut at whole characters", () => {
    expect(clipped("日本語", 4)).toBe("日…");
    expect(clipped("日本", 4)).toBe("日本");
  });
});

test.each([
  [0, "0s"],
  [59.9, "59s"],
  [61, "1m 1s"],
  [7_384, "2h 3m"],
  [356_461, "4d 3h"],
  [-5, "0s"],
])("%d seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});
