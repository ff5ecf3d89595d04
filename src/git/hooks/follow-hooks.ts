// The hooks of followed repositories, in every folder in which git looks for them.
import { Mutex } from "../../lib/async/mutex.ts";
import type { FollowList } from "../follow/list.ts";
import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";
import { permitted } from "./files.ts";
import type { HookTarget } from "./hook-script.ts";
import { type HookFolder, type HookPlan, installHooks, planHooks, removeHooks } from "./hooks.ts";
import { excludeHooks, excludePatterns, hookFolders } from "./places.ts";

export type HooksPlan = {
  readonly steps: readonly string[];
  readonly folders: readonly HookFolder[];
  /** The tops of both trees. */
  readonly tops: readonly string[];
};

export class FollowHooks {
  readonly #list: FollowList;
  readonly #target: HookTarget | undefined;
  /** Several repositories may share a folder. */
  readonly #mutex = new Mutex();

  /** `target`: `undefined` where the user cannot reach the session host's sockets. */
  constructor(parts: { readonly list: FollowList; readonly target: HookTarget | undefined }) {
    this.#list = parts.list;
    this.#target = parts.target;
  }

  /** Changes nothing. */
  async plan(git: Git, { mainRoot }: Pick<Repository, "mainRoot">, worktreePath: string): Promise<HooksPlan> {
    const tops = [mainRoot, worktreePath];
    const all = await hookFolders(git, tops);
    const steps = await Promise.all(
      all.map(async (folder) => {
        const plans = await permitted(() => planHooks(folder));
        return plans.map(({ name, change }) => `git hook ${name} in ${folder.path}: ${CHANGES[change]}`);
      }),
    );
    return { steps: steps.flat(), folders: all.filter(({ isDenied }) => !isDenied), tops };
  }

  /** Installs planned hooks. The repository must be in the list. */
  async install({ folders, tops }: HooksPlan, commonDir: string): Promise<void> {
    await this.#inTurn(async () => {
      await excludeHooks(commonDir, excludePatterns(folders, tops));
      for (const folder of folders) await installHooks(folder, this.#target);
    });
  }

  /**
   * Removes the repository from the list, and the hooks from all folders that no other followed repository uses.
   * Without a `commonDir` the repository is gone.
   */
  async remove(mainRoot: string, commonDir: string | undefined): Promise<void> {
    await this.#inTurn(async () => {
      const others = this.#list.entries.filter(({ repoPath }) => repoPath !== mainRoot);
      const used = new Set(others.flatMap(({ hookFolders }) => hookFolders));
      for (const folder of this.#list.get(mainRoot)?.hookFolders ?? [])
        if (!used.has(folder)) await removeHooks(folder);
      if (commonDir !== undefined) await excludeHooks(commonDir, []);
      await this.#list.delete(mainRoot);
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    return this.#mutex.take(() => permitted(work));
  }
}

const CHANGES: Readonly<Record<HookPlan["change"], string>> = {
  new: "is new",
  kept: "runs the hook that is there first",
  same: "is there already",
  tracked: "is a file of the repository and left alone",
  denied: "may not be written, and is left out",
};
