import type { Git } from "../git.ts";
import { findRepository } from "../repository.ts";
import { readWorktrees } from "../worktrees/list.ts";

/** The tops of all working trees of a repository; none where there is no repository. */
export async function treeTops(git: Git): Promise<readonly string[]> {
  const repository = await findRepository(git);
  if (repository === undefined) return [];
  return (await readWorktrees(git, repository)).map(({ path }) => path);
}
