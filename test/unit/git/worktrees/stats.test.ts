import { expect, test } from "vitest";
import { parseParted, parseShortStats } from "../../../../src/git/worktrees/stats.ts";

const [A, B, C, D] = ["a", "b", "c", "d"].map((digit) => digit.repeat(40));

test("each commit is told with where it and the base parted, the first of several, and one with nothing in common not at all", () => {
  const text = [A, B, `^${C}`, `^${D}`, C, B, D, B, `^${B}`, ""].join("\n");
  expect([...parseParted(text)]).toEqual([
    [A, C],
    [D, B],
  ]);
});

test("each commit is told with its numbers, those that are nought left out by git", () => {
  const text = `${A}\n 1 file changed, 1 insertion(+)\n${B}\n 12 files changed, 3 insertions(+), 1 deletion(-)\n${C}\n 2 files changed\n`;
  expect([...parseShortStats(text)]).toEqual([
    [A, { filesChanged: 1, insertions: 1, deletions: 0 }],
    [B, { filesChanged: 12, insertions: 3, deletions: 1 }],
    [C, { filesChanged: 2, insertions: 0, deletions: 0 }],
  ]);
});
