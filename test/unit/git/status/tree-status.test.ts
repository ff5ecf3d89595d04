import { expect, test } from "vitest";
import { parseStatus, treeStatus } from "../../../../src/git/status/status.ts";

const repository = {
  ...{ root: "/r", mainRoot: "/m", gitDir: "/m/.git/worktrees/r", commonDir: "/m/.git" },
  ...{ isBare: false, isWorktree: true },
};
const place = { gitRepoPath: "/r", gitMainRepoPath: "/m", gitIsWorktree: true };
const none = { gitModifiedCount: 0, gitStagedCount: 0, gitDeletedCount: 0, gitAddedCount: 0 };
const lines = (...all: readonly string[]): string => all.map((line) => `${line}\0`).join("");
const read = (text: string) => treeStatus(repository, parseStatus(text));
const OID = `# branch.oid ${"1".repeat(40)}`;

test("ahead and behind are present only with an existing upstream", () => {
  const followed = lines(OID, "# branch.head a", "# branch.upstream origin/b", "# branch.ab +1 -2");
  expect(read(followed)).toEqual({
    status: { ...place, ...none, gitBranch: "a", gitAheadCount: 1, gitBehindCount: 2, gitHasChanges: false },
    upstream: "origin/b",
  });
  expect(read(lines(OID, "# branch.head a", "# branch.upstream origin/b"))).toEqual({
    status: { ...place, ...none, gitBranch: "a", gitHasChanges: false },
    upstream: "origin/b",
  });
});

test("a detached HEAD has an empty branch name", () => {
  expect(read(lines(OID, "# branch.head (detached)"))).toEqual({
    status: { ...place, ...none, gitBranch: "", gitHasChanges: false },
    upstream: undefined,
  });
});

test("a changed file whose name looks like a header is a changed file", () => {
  const change = `1 .M N... 100644 100644 100644 ${"1".repeat(40)} ${"1".repeat(40)} # branch.ab +1 -1`;
  expect(read(lines(OID, "# branch.head a", change)).status).toEqual({
    ...{ ...place, ...none, gitModifiedCount: 1, gitBranch: "a", gitHasChanges: true },
  });
});

test("untracked files are counted, but are not changes", () => {
  expect(read(lines(OID, "# branch.head a", "? new", "? folder/")).status).toEqual({
    ...{ ...place, ...none, gitAddedCount: 2, gitBranch: "a", gitHasChanges: false },
  });
});
