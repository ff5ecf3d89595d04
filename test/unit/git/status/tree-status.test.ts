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

test("numbers are there with an upstream alone, and not with one that has gone", () => {
  const followed = lines(OID, "# branch.head a", "# branch.upstream origin/b", "# branch.ab +1 -2");
  expect(read(followed)).toEqual({
    status: { ...place, ...none, gitBranch: "a", gitAheadCount: 1, gitBehindCount: 2, gitHasChanges: false },
    ...{ branch: "a", upstream: "origin/b" },
  });
  expect(read(lines(OID, "# branch.head a", "# branch.upstream origin/b"))).toEqual({
    status: { ...place, ...none, gitBranch: "a", gitHasChanges: false },
    ...{ branch: "a", upstream: "origin/b" },
  });
});

test("a detached head is on the branch without a name", () => {
  expect(read(lines(OID, "# branch.head (detached)"))).toEqual({
    status: { ...place, ...none, gitBranch: "", gitHasChanges: false },
    ...{ branch: undefined, upstream: undefined },
  });
});

test("a changed file whose name looks like a header is a changed file", () => {
  const change = `1 .M N... 100644 100644 100644 ${"1".repeat(40)} ${"1".repeat(40)} # branch.ab +1 -1`;
  expect(read(lines(OID, "# branch.head a", change)).status).toEqual({
    ...{ ...place, ...none, gitModifiedCount: 1, gitBranch: "a", gitHasChanges: true },
  });
});

test("files that git does not track are counted, and are no changes", () => {
  expect(read(lines(OID, "# branch.head a", "? new", "? folder/")).status).toEqual({
    ...{ ...place, ...none, gitAddedCount: 2, gitBranch: "a", gitHasChanges: false },
  });
});
