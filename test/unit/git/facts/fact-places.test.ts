import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beginningPlaces, factPlaces } from "../../../../src/git/facts/fact-places.ts";
import type { WatchedFolder } from "../../../../src/git/facts/folder-watches.ts";
import { isLikelyRepository } from "../../../../src/git/facts/likely-repository.ts";

let top = "";
beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), "ttyhq-places-"));
  await mkdir(join(top, "repo/.git/refs/heads/team"), { recursive: true });
  await mkdir(join(top, "repo/folder"));
  await mkdir(join(top, "plain"));
  await mkdir(join(top, "bare"));
  await writeFile(join(top, "bare/HEAD"), "");
});
afterAll(() => rm(top, { recursive: true }));

const watches = (places: readonly WatchedFolder[], path: string, name: string): boolean =>
  places.some((place) => place.path === join(top, path) && place.matters(name));

test("a branch and its upstream are looked for where they are, or where they would begin", () => {
  const root = join(top, "repo");
  const gitDir = join(root, ".git");
  const repository = { root, mainRoot: root, gitDir, commonDir: gitDir, isBare: false, isWorktree: false };
  const places = factPlaces(repository, { branch: "team/mine", upstream: "origin/main" });
  expect(watches(places, "repo/.git/refs/heads/team", "mine")).toBe(true);
  expect(watches(places, "repo/.git/refs/heads/team", "other")).toBe(false);
  expect(watches(places, "repo/.git/refs", "remotes")).toBe(true);
  expect(watches(places, "repo/.git/refs/heads", "origin")).toBe(true);
  expect(
    ["HEAD", "index", "packed-refs", "config"].map((name) => watches(places, "repo/.git", name)),
  ).toEqual([true, true, true, true]);
  expect(["index.lock", "COMMIT_EDITMSG", "objects"].some((name) => watches(places, "repo/.git", name))).toBe(
    false,
  );
});

test("a repository begins with a .git in the folder, or with the folder itself", () => {
  expect(watches(beginningPlaces(join(top, "plain")), "plain", ".git")).toBe(true);
  expect(watches(beginningPlaces(join(top, "plain")), "plain", "notes.txt")).toBe(false);
  const missing = beginningPlaces(join(top, "plain/a/b"));
  expect(watches(missing, "plain", "a")).toBe(true);
  expect(watches(missing, "plain", "b")).toBe(false);
});

test("where no folder above has a .git or a HEAD there is certainly no repository", async () => {
  const folders = ["plain", "plain/missing", "repo/folder", "bare"].map((name) => join(top, name));
  expect(await Promise.all(folders.map(isLikelyRepository))).toEqual([false, false, true, true]);
});
