import { expect, test } from "vitest";
import { gitError } from "../../../src/git/git-error.ts";

const failed = (stderr: string): ReturnType<typeof gitError> =>
  gitError("x", { stdout: "", stderr, code: 128 });

test.each([
  ["fatal: not a git repository (or any of the parent directories): .git\n", "not_a_repository"],
  ["fatal: cannot change to '/x': No such file or directory\n", "not_a_repository"],
  ["fatal: detected dubious ownership in repository at '/x'\nTo add an exception\n", "forbidden"],
  [
    "Preparing worktree (checking out 'x')\nfatal: 'x' is already checked out at '/y'\n",
    "branch_checked_out",
  ],
  ["fatal: 'x' is already used by worktree at '/y'\n", "branch_checked_out"],
  ["fatal: a branch named 'a' already exists\n", "branch_exists"],
  ["Preparing worktree (new branch 'x')\nfatal: '/a\nb' already exists\n", "worktree_path_exists"],
  ["fatal: '/x' contains modified or untracked files, use --force to delete it\n", "uncommitted_changes"],
  [
    "error: Your local changes to the following files would be overwritten by checkout:\n\ta\n",
    "uncommitted_changes",
  ],
  ["fatal: working trees containing submodules cannot be moved or removed\n", "uncommitted_changes"],
  ["fatal: invalid reference: x\n", "branch_not_found"],
  ["fatal: '/x' is a main working tree\n", "main_worktree"],
  ["fatal: bad object HEAD\n", "git_failed"],
  ["", "git_failed"],
])("%j has the expected code", (stderr, code) => {
  expect(failed(stderr).code).toBe(code);
});

test("the message is git's reason without passwords", () => {
  const error = failed("hint: x\nfatal: unable to access 'https://one:secret@example.com/': nope\n");
  expect(error.message).toBe("git x: unable to access 'https://[redacted]@example.com/': nope");
  expect(JSON.stringify(error.details)).not.toContain("secret");
  expect(failed("").message).toBe("git x: it ended with 128 and said nothing");
});
