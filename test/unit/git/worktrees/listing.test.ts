import { expect, test } from "vitest";
import { parseStats } from "../../../../src/git/worktrees/listing.ts";

test.each([
  ["3\t5 2 files changed, 7 insertions(+), 1 deletion(-)", [5, 3, 2, 7, 1]],
  ["0\t1 1 file changed, 1 insertion(+)", [1, 0, 1, 1, 0]],
  ["0\t1 1 file changed, 12 deletions(-)", [1, 0, 1, 0, 12]],
  ["2\t0", [0, 2, 0, 0, 0]],
])("the line %j is parsed", (line, [commitsAhead, commitsBehind, filesChanged, insertions, deletions]) => {
  expect(parseStats(line)).toEqual({ commitsAhead, commitsBehind, filesChanged, insertions, deletions });
});

test("a line without counts has no stats", () => {
  expect(parseStats("")).toBeUndefined();
});
