import { expect, test } from "vitest";
import { branchWords } from "../../../../src/web/session/branch-words.ts";

const home = { gitRepoPath: "/home/ada/engine", gitMainRepoPath: "/home/ada/engine", gitIsWorktree: false };

test("outside a repository there is nothing to say", () => {
  expect(branchWords({})).toBeUndefined();
});

test("a clean branch is its name alone", () => {
  expect(branchWords({ ...home, gitBranch: "main", gitHasChanges: false })).toEqual({
    ...{ name: "main", isDirty: false, distance: "" },
    title: "On branch main of ~/engine",
  });
});

test("uncommitted, unpushed and unpulled changes are shown in few signs and in words", () => {
  const git = { ...home, gitBranch: "a/b", gitHasChanges: true, gitAheadCount: 1, gitBehindCount: 12 };
  expect(branchWords(git)).toEqual({
    ...{ name: "a/b", isDirty: true, distance: "↑1 ↓12" },
    title: "On branch a/b of ~/engine, uncommitted changes, 1 commit ahead, 12 commits behind",
  });
  expect(branchWords({ ...git, gitBehindCount: 0 })?.distance).toBe("↑1");
});

test("a worktree says of which repository it is, and a detached head that it is on no branch", () => {
  const git = { ...home, gitRepoPath: "/home/ada/engine-side", gitIsWorktree: true, gitBranch: "" };
  expect(branchWords(git)).toMatchObject({
    name: "detached",
    title: "On no branch of ~/engine-side, a worktree of ~/engine",
  });
});
