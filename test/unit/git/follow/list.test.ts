import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FollowFile } from "../../../../src/repositories/follow-file.ts";
import { followList } from "../../../integration/git/follow-repository.ts";

const entry = (repoPath: string) => ({ repoPath, user: "somebody", hookFolders: [] });

async function withDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-list-"));
  try {
    await work(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

test("concurrent changes leave the same entries in the file and in memory", async () => {
  await withDirectory(async (directory) => {
    for (let round = 0; round < 20; round++) {
      const path = join(directory, `${round}.json`);
      const list = await followList(path);
      const names = Array.from({ length: 8 }, (_, index) => `/r${index}`);
      const set = names.map((name) => list.set(entry(name)));
      await Promise.all([...set, list.delete("/r0")]);
      expect((await followList(path)).entries).toEqual(list.entries);
    }
  });
});

test("one user's followed repositories are stored beside those of others", async () => {
  await withDirectory(async (directory) => {
    const path = join(directory, "follow.json");
    const file = await FollowFile.open(path);
    await Promise.all([
      file.set(undefined, [entry("/own")]),
      file.set("ada", [entry("/ada")]),
      file.set("bob", [entry("/bob")]),
    ]);
    await file.set("bob", []);
    const again = await FollowFile.open(path);
    expect([...again.accounts]).toEqual([undefined, "ada"]);
    expect(again.of("ada")).toEqual([entry("/ada")]);
  });
});
