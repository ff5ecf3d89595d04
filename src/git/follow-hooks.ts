// The hooks of followed repositories, in every folder in which git looks for them.
import type { FollowList } from "./follow-list.ts";
import type { Git } from "./git.ts";
import type { HookTarget } from "./hook-script.ts";
import { type HookFolder, type HookPlan, installHooks, planHooks, removeHooks } from "./hooks.ts";
import { excludeHooks, excludePatterns, hookFolders } from "./hooks-places.ts";
import type { Repository } from "./repository.ts";

type Place = Pick<Repository, "mainRoot" | "commonDir">;

export class FollowHooks {
  readonly #list: FollowList;
  readonly #target: HookTarget;

  constructor({ list, target }: { readonly list: FollowList; readonly target: HookTarget }) {
    this.#list = list;
    this.#target = target;
  }

  /** Returns the folders, and one sentence for each thing that was done or left. */
  async install(
    git: Git,
    { mainRoot, commonDir }: Place,
    worktreePath: string,
  ): Promise<{ readonly folders: readonly string[]; readonly steps: readonly string[] }> {
    const tops = [mainRoot, worktreePath];
    const folders = await hookFolders(git, tops);
    const steps = await this.plan(git, { mainRoot, commonDir }, worktreePath);
    await excludeHooks(commonDir, excludePatterns(folders, tops));
    for (const folder of folders) await installHooks(folder, this.#target);
    return { folders: folders.map(({ path }) => path), steps };
  }

  async plan(git: Git, { mainRoot }: Place, worktreePath: string): Promise<readonly string[]> {
    const folders = await hookFolders(git, [mainRoot, worktreePath]);
    const plans = await Promise.all(
      folders.map(async (folder) => sentences(folder, await planHooks(folder))),
    );
    return plans.flat();
  }

  /** Everywhere they were put, but for folders that another followed repository has as well. */
  async remove({ mainRoot, commonDir }: Place): Promise<void> {
    const own = this.#list.get(mainRoot)?.hookFolders ?? [];
    const others = this.#list.entries.filter(({ repoPath }) => repoPath !== mainRoot);
    const inUse = new Set(others.flatMap(({ hookFolders: paths }) => paths));
    for (const folder of own) if (!inUse.has(folder)) await removeHooks(folder);
    await excludeHooks(commonDir, []);
  }
}

const CHANGES: Readonly<Record<HookPlan["change"], string>> = {
  new: "is new",
  kept: "runs the hook that is there first",
  same: "is there already",
  tracked: "is a file of the repository and left alone",
};

function sentences({ path }: HookFolder, plans: readonly HookPlan[]): readonly string[] {
  return plans.map(({ name, change }) => `git hook ${name} in ${path}: ${CHANGES[change]}`);
}
