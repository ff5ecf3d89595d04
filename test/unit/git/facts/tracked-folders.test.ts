import fc from "fast-check";
import { expect, test } from "vitest";
import { trackedFolders } from "../../../../src/git/facts/tracked-folders.ts";

const listed = (...paths: readonly string[]): string => paths.map((path) => `${path}\0`).join("");

test("a file's folder is watched, and every folder that this is in", () => {
  expect(trackedFolders(listed("a", "x/b", "x/y/z/c\nd"), 100)).toEqual([".", "x", "x/y/z", "x/y"]);
});

test("the root is watched where nothing is tracked yet", () => {
  expect(trackedFolders("", 100)).toEqual(["."]);
});

test("too many folders, and submodules, are seen by nobody", () => {
  expect(trackedFolders(listed("a/1", "b/2"), 3)).toHaveLength(3);
  expect(trackedFolders(listed("a/1", "b/2", "c/3"), 3)).toBeUndefined();
  expect(trackedFolders(listed(".gitmodules", "a"), 100)).toBeUndefined();
});

test("a list that leads out of the tree is not followed", () => {
  const lists = ["/etc/passwd", "../x", "a/../../x", "a/.."].map((path) => trackedFolders(listed(path), 100));
  expect(lists).toEqual([undefined, undefined, undefined, undefined]);
  expect(trackedFolders(listed("..a/b..", "c/...d"), 100)).toEqual([".", "..a", "c"]);
});

test("of any list, no folder is twice there, and each is in another one up to the root", () => {
  const name = fc.stringMatching(/^[a-c .]{1,3}$/).filter((text) => text !== "." && text !== "..");
  const path = fc.array(name, { minLength: 1, maxLength: 6 }).map((names) => names.join("/"));
  fc.assert(
    fc.property(fc.array(path), (paths) => {
      const folders = trackedFolders(listed(...paths), Infinity) ?? [];
      expect(new Set(folders).size).toBe(folders.length);
      for (const folder of folders) {
        const parent = folder.includes("/") ? folder.replace(/\/[^/]*$/, "") : ".";
        expect(folders).toContain(parent);
      }
    }),
  );
});
