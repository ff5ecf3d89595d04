import { describe, expect, test } from "vitest";
import { branchNameProblem, branchRef, shortBranchName } from "../../../../src/git/worktrees/branches.ts";

// Against git itself: test/integration/git/injection-names.test.ts.
describe("a branch's name", () => {
  test.each([
    "main",
    "feature/x",
    "a-b_c.d",
    "ü/日本/🌳",
    "@",
    "a@b",
    "x{y}",
    "refs/heads/main",
    "$(id)",
    "a;b|c&d'\"`",
  ])("may be %j", (name) => {
    expect(branchNameProblem(name)).toBeUndefined();
  });

  test.each([
    ...[
      "",
      "-",
      "-b",
      "--force",
      "HEAD",
      "a..b",
      "a b",
      "a~1",
      "a^",
      "a:b",
      "a?",
      "a*",
      "a[b",
      "a\\b",
      "@{-1}",
      "a@{u}",
    ],
    ...["/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "a\nb", "a\0b", "a\x7f", "\ud800"],
  ])("may not be %j", (name) => {
    expect(branchNameProblem(name)).toEqual(expect.any(String));
  });

  test("is accepted with refs/heads/, and rejected with a reason", () => {
    expect(shortBranchName("refs/heads/a/b")).toBe("a/b");
    expect(branchRef("a/b")).toBe("refs/heads/a/b");
    expect(() => shortBranchName("refs/heads/--x")).toThrow(
      expect.objectContaining({
        code: "invalid_branch_name",
        message: '"refs/heads/--x" is no name for a branch: it begins with a hyphen',
      }),
    );
  });
});
