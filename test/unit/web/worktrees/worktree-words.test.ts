import { expect, test } from "vitest";
import { branchName, keptWords, lossWords } from "../../../../src/web/worktrees/worktree-words.ts";

test("a worktree is named by its branch, and by none where its head is detached", () => {
  expect(branchName({ branch: "refs/heads/feature/x", detached: false })).toBe("feature/x");
  expect(branchName({ branch: "HEAD", detached: true })).toBe("");
});

test("losses are stated with correct plurals", () => {
  const none = { changed: 0, untracked: 0, ignored: 0, files: [] };
  expect(lossWords(none)).toEqual([]);
  expect(lossWords({ ...none, changed: 2, untracked: 1, ignored: 3 })).toEqual([
    "Uncommitted changes in 2 files are lost.",
    "1 untracked file or folder is deleted.",
    "3 ignored files or folders are deleted.",
  ]);
});

test("the branch stays, and commits that no remote has are counted", () => {
  expect(keptWords("x", {})).toBe("The branch x stays, with its commits. Stashes stay, too.");
  expect(keptWords("x", { unpushed: 1 })).toContain("with its commits, 1 of which is on no remote.");
});
