import { expect, test } from "vitest";
import { homeRelative } from "../../../src/git/discovery.ts";
import { defaultWorktreePath } from "../../../src/git/worktrees/new-worktree.ts";

test.each([
  ["/home/one", "~"],
  ["/home/one/x/y", "~/x/y"],
  ["/home/one-more", "/home/one-more"],
  ["/home", "/home"],
])("%s is shown as %s relative to the home directory", (path, written) => {
  expect(homeRelative(path, "/home/one")).toBe(written);
});

test.each([
  ["feature/x", "/r-feature-x"],
  ["a_B-9", "/r-a_B-9"],
  ["ü.🌳", "/r----"],
  ["x".repeat(300), `/r-${"x".repeat(100)}`],
])("the default path for the branch %s is beside the repository", (branch, path) => {
  expect(defaultWorktreePath("/r", branch)).toBe(path);
});
