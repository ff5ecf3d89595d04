// After any sequence of actions in a repository, at any speed, the final status equals git's.
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { findRepository } from "../../../src/git/repository.ts";
import { readTreeStatus } from "../../../src/git/status/status.ts";
import type { GitStatus } from "../../../src/protocol/schemas/session.ts";
import type { GitRoom } from "../harness/git-repository.ts";
import { inside, StatusRoom } from "./status-room.ts";

type Stand = { readonly room: GitRoom; readonly tree: string; readonly step: number };
type Action = (stand: Stand) => Promise<unknown>;

const git =
  (...args: readonly string[]): Action =>
  ({ room, tree }) =>
    room.git(tree, ...args);

const ACTIONS: Readonly<Record<string, Action>> = {
  edit: ({ room, tree, step }) => room.append(join(tree, "a.txt"), `${step}\n`),
  editBelow: ({ room, tree, step }) => room.append(join(tree, "folder/b.txt"), `${step}\n`),
  addFolder: ({ room, tree, step }) => room.write(join(tree, `new${step}/deep/c.txt`), "c\n"),
  untracked: ({ room, tree, step }) => room.write(join(tree, `untracked${step}`), "x\n"),
  removeFile: ({ tree }) => rm(join(tree, "folder/b.txt")),
  removeFolder: ({ tree }) => rm(join(tree, "folder"), { recursive: true }),
  moveFolder: ({ tree, step }) => rename(join(tree, "folder"), join(tree, `folder${step}`)),
  stage: git("add", "--all"),
  commit: git("commit", "--quiet", "--all", "--allow-empty", "-m", "work"),
  amend: git("commit", "--quiet", "--all", "--amend", "--allow-empty", "-m", "again"),
  restore: git("checkout", "--quiet", "--", "."),
  resetHard: git("reset", "--quiet", "--hard"),
  resetBack: git("reset", "--quiet", "--hard", "HEAD~1"),
  stash: git("stash", "--quiet"),
  pop: git("stash", "pop", "--quiet"),
  switchNew: ({ room, tree, step }) => room.git(tree, "switch", "--quiet", "-c", `b${step}`),
  switchBack: git("switch", "--quiet", "side"),
  detach: git("checkout", "--quiet", "--detach"),
  rename: ({ room, tree, step }) => room.git(tree, "branch", "-m", `n${step}/${step}`),
  follow: git("branch", "--quiet", "--set-upstream-to", "main"),
  unfollow: git("branch", "--quiet", "--unset-upstream"),
  moveUpstream: ({ room }) => room.git(room.at("repo"), "commit", "--quiet", "--allow-empty", "-m", "up"),
  merge: git("merge", "--quiet", "--no-edit", "main"),
  pack: git("pack-refs", "--all"),
  collect: git("gc", "--quiet"),
};

async function gitSays(room: GitRoom, tree: string): Promise<GitStatus | undefined> {
  const at = room.program.at(tree);
  const repository = await findRepository(at);
  return repository && (await readTreeStatus(at, repository)).status;
}

test("after any history the known status equals git's", async () => {
  const name = fc.constantFrom(...Object.keys(ACTIONS));
  await fc.assert(
    fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 12 }), async (names) => {
      await using place = await StatusRoom.make();
      const { room } = place;
      const tree = await room.worktree(await room.repository(), "side");
      using one = await inside(place, tree);
      // An action that git refuses in that state does not count.
      for (const [step, action] of names.entries()) {
        await ACTIONS[action]?.({ room, tree, step }).catch(() => undefined);
      }
      const expected = await gitSays(room, tree);
      expect(expected).toBeDefined();
      await one.checked(
        (status) => isDeepStrictEqual(status, expected),
        `after ${names.join(", ")}: ${JSON.stringify(expected)}`,
      );
    }),
    { numRuns: 25, endOnFailure: true },
  );
});
