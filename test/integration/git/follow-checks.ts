// Common checks and first steps of the suites of follow mode.
import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { FollowRepository } from "./follow-repository.ts";

/** Both trees are on one commit of one branch, and the main tree has no changes. */
export async function together(repository: FollowRepository): Promise<void> {
  const { main, tree } = repository;
  expect(await main.branch(), repository.log).toBe(await tree.branch());
  expect(await main.head(), repository.log).toBe(await tree.head());
  expect(await main.status(), repository.log).toBe("");
}

/** An uncommitted edit holds the main tree back from the worktree's commit. */
export async function holdBack(repository: FollowRepository): Promise<void> {
  const { main, tree } = repository;
  await main.write("shared.txt", "mine\n");
  await tree.commit("shared.txt", "theirs\n");
  await repository.settled();
}

/** Longer than the delay of a check after a change. */
const QUIET_MS = 600;

/** Waits until follow mode has checked everything and is idle. */
export async function atRest(repository: FollowRepository): Promise<void> {
  const isQuiet = async (): Promise<boolean> => {
    const before = repository.checks;
    await pause(QUIET_MS);
    if (repository.checks !== before) return false;
    // A running check is counted at its end, and this one follows it.
    await repository.settled();
    return repository.checks <= before + 1;
  };
  await expect.poll(isQuiet).toBe(true);
}

/** Waits until the server knows in which repository that session is: before, no news of it reaches the session. */
export async function placed(record: () => Promise<SessionRecord>): Promise<void> {
  await expect.poll(async () => (await record()).gitRepoPath).toBeDefined();
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Followed, two commits on `feature`, and one on `side`, which an `origin` has as well. */
export async function prepared(): Promise<FollowRepository> {
  const repository = await FollowRepository.make();
  const { main, tree } = repository;
  await main.git("switch", "--quiet", "--create", "side");
  await main.commit("side.txt", "side\n");
  await main.git("switch", "--quiet", "main");
  await main.git("clone", "--quiet", "--bare", ".", join(repository.directory, "origin.git"));
  await main.git("remote", "add", "origin", join(repository.directory, "origin.git"));
  await tree.commit("one.txt", "one\n");
  await tree.commit("two.txt", "two\n");
  await repository.enable();
  repository.told();
  return repository;
}
