import { expect, test } from "vitest";
import { parseWorktrees } from "../../../../src/git/worktrees/list.ts";

const HEAD = "1234567890123456789012345678901234567890";
const ZERO = "0".repeat(40);

function text(...entries: readonly (readonly string[])[]): string {
  return entries
    .map((lines) =>
      lines
        .map((line) => `${line}\0`)
        .join("")
        .concat("\0"),
    )
    .join("");
}

test("the main worktree comes first, and each has its commit and branch", () => {
  const found = parseWorktrees(
    text(
      ["worktree /r", `HEAD ${HEAD}`, "branch refs/heads/main"],
      ["worktree /r-x", `HEAD ${HEAD}`, "branch refs/heads/feature/x"],
    ),
  );
  const common = { head: HEAD, isBare: false, locked: undefined, prunable: undefined };
  expect(found).toEqual([
    { ...common, path: "/r", branch: "main", isMain: true },
    { ...common, path: "/r-x", branch: "feature/x", isMain: false },
  ]);
});

test("paths and reasons may have spaces and line feeds", () => {
  const found = parseWorktrees(
    text(
      ["worktree /a b\nc", "bare"],
      [
        "worktree /d",
        `HEAD ${HEAD}`,
        "detached",
        "locked on a\nstick",
        "prunable gitdir file points elsewhere",
      ],
      ["worktree /e", `HEAD ${ZERO}`, "branch refs/heads/new", "locked"],
    ),
  );
  expect(found).toMatchObject([
    { path: "/a b\nc", isBare: true, head: undefined, branch: undefined },
    { path: "/d", branch: undefined, locked: "on a\nstick", prunable: "gitdir file points elsewhere" },
    { path: "/e", head: undefined, branch: "new", locked: "", prunable: undefined },
  ]);
});

test("empty output lists no worktree", () => {
  expect(parseWorktrees("")).toEqual([]);
});
