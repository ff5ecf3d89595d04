import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FollowList } from "../../../src/git/follow-list.ts";

test("what is set and deleted at once is in the file as it is in memory", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-list-"));
  for (let round = 0; round < 20; round++) {
    const path = join(directory, `${round}.json`);
    const list = new FollowList(path);
    const names = Array.from({ length: 8 }, (_, index) => `/r${index}`);
    const entry = (repoPath: string) => ({ repoPath, user: "somebody", hookFolders: [] });
    const set = names.map((name) => list.set(entry(name)));
    await Promise.all([...set, list.delete("/r0")]);
    expect(await new FollowList(path).read()).toEqual(list.entries);
  }
  await rm(directory, { recursive: true });
});
