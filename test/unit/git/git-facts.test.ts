import { expect, test } from "vitest";
import { treeFacts } from "../../../src/git/git-facts.ts";

const repository = {
  ...{ root: "/r", mainRoot: "/m", gitDir: "/m/.git/worktrees/r", commonDir: "/m/.git" },
  ...{ isBare: false, isWorktree: true },
};
const place = { gitRepoPath: "/r", gitMainRepoPath: "/m", gitIsWorktree: true };
const lines = (...all: readonly string[]): string => all.map((line) => `${line}\0`).join("");
const OID = `# branch.oid ${"1".repeat(40)}`;

test("numbers are there with an upstream alone, and not with one that has gone", () => {
  const followed = lines(OID, "# branch.head a", "# branch.upstream origin/b", "# branch.ab +1 -2");
  expect(treeFacts(repository, followed)).toEqual({
    facts: { ...place, gitBranch: "a", gitAheadCount: 1, gitBehindCount: 2, gitHasChanges: false },
    refs: { branch: "a", upstream: "origin/b" },
  });
  expect(treeFacts(repository, lines(OID, "# branch.head a", "# branch.upstream origin/b"))).toEqual({
    facts: { ...place, gitBranch: "a", gitHasChanges: false },
    refs: { branch: "a", upstream: "origin/b" },
  });
});

test("a detached head is on the branch without a name", () => {
  expect(treeFacts(repository, lines(OID, "# branch.head (detached)"))).toEqual({
    facts: { ...place, gitBranch: "", gitHasChanges: false },
    refs: { branch: undefined, upstream: undefined },
  });
});

test("a changed file whose name looks like a header is a changed file", () => {
  const change = `1 .M N... 100644 100644 100644 ${"1".repeat(40)} ${"1".repeat(40)} # branch.ab +1 -1`;
  expect(treeFacts(repository, lines(OID, "# branch.head a", change)).facts).toEqual({
    ...{ ...place, gitBranch: "a", gitHasChanges: true },
  });
});
