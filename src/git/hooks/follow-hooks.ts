// The hooks of followed repositories, in every folder in which git looks for them.
import { randomBytes } from "node:crypto";
import { KeyedMutex } from "../../lib/async/mutex.ts";
import type { FollowEntry, FollowList } from "../follow/list.ts";
import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";
import type { HookPlace, HookTarget } from "./hook-script.ts";
import { type HookFolder, type HookPlan, installHooks, planHooks, removeHooks } from "./hooks.ts";
import { excludeHooks, excludePatterns, hookFolders } from "./places.ts";

type Place = Pick<Repository, "mainRoot" | "commonDir">;

/** The folders that hold ours, and one sentence for each thing that was done or left. */
export type Installed = { readonly folders: readonly string[]; readonly steps: readonly string[] };

type Foreseen = Pick<FollowEntry, "hookFolders" | "hookKey">;

const KEY_BYTES = 24;

export class FollowHooks {
  readonly #list: FollowList;
  readonly #target: HookPlace;
  /** By folder: several repositories may have one. */
  readonly #turns = new KeyedMutex();

  constructor(parts: { readonly list: FollowList; readonly target: HookPlace }) {
    this.#list = parts.list;
    this.#target = parts.target;
  }

  /** Where `install` will put them, and what those of another user are to say; for the list. */
  async foresee(git: Git, { mainRoot }: Place, worktreePath: string): Promise<Foreseen> {
    const folders = await hookFolders(git, [mainRoot, worktreePath]);
    const paths = folders.filter(({ isDenied }) => !isDenied).map(({ path }) => path);
    if (!("socket" in this.#target)) return { hookFolders: paths };
    // A hook that several repositories share sends one key.
    const sharing = this.#list.entries.find(
      ({ repoPath, hookFolders: others }) =>
        repoPath === mainRoot || others.some((path) => paths.includes(path)),
    );
    const hookKey = sharing?.hookKey ?? newKey();
    return { hookFolders: paths, hookKey };
  }

  async install(git: Git, { mainRoot, commonDir }: Place, worktreePath: string): Promise<Installed> {
    const tops = [mainRoot, worktreePath];
    const folders = await hookFolders(git, tops);
    const steps = await this.plan(git, { mainRoot, commonDir }, worktreePath);
    const ours = folders.filter(({ isDenied }) => !isDenied);
    await excludeHooks(commonDir, excludePatterns(ours, tops));
    const target = this.#targetOf(mainRoot);
    for (const folder of ours) {
      await this.#turns.take(folder.path, () => installHooks(folder, target));
    }
    return { folders: ours.map(({ path }) => path), steps };
  }

  async plan(git: Git, { mainRoot }: Place, worktreePath: string): Promise<readonly string[]> {
    const folders = await hookFolders(git, [mainRoot, worktreePath]);
    const plans = await Promise.all(
      folders.map(async (folder) => sentences(folder, await planHooks(folder))),
    );
    return plans.flat();
  }

  /**
   * Everywhere they were put, but for folders that another followed repository has as well. Without a `commonDir` the
   * repository is gone: they may be in a folder that is not.
   */
  async remove({
    mainRoot,
    commonDir,
  }: Pick<Place, "mainRoot"> & { readonly commonDir: string | undefined }): Promise<void> {
    const own = this.#list.get(mainRoot)?.hookFolders ?? [];
    for (const folder of own) await this.#turns.take(folder, () => this.#leave(folder, mainRoot));
    if (commonDir !== undefined) await excludeHooks(commonDir, []);
  }

  /** Of those that go at once the last one takes them away. */
  async #leave(folder: string, mainRoot: string): Promise<void> {
    const others = this.#list.entries.filter(({ repoPath }) => repoPath !== mainRoot);
    const isInUse = others.some(({ hookFolders: paths }) => paths.includes(folder));
    if (!isInUse) await removeHooks(folder);
    const entry = this.#list.get(mainRoot);
    if (entry === undefined) return;
    await this.#list.set({ ...entry, hookFolders: entry.hookFolders.filter((path) => path !== folder) });
  }

  #targetOf(mainRoot: string): HookTarget {
    const target = this.#target;
    if (!("socket" in target)) return target;
    return { ...target, key: this.#list.get(mainRoot)?.hookKey ?? newKey() };
  }
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString("base64url");
}

const CHANGES: Readonly<Record<HookPlan["change"], string>> = {
  new: "is new",
  kept: "runs the hook that is there first",
  same: "is there already",
  tracked: "is a file of the repository and left alone",
  denied: "may not be written, and is left out",
};

function sentences({ path }: HookFolder, plans: readonly HookPlan[]): readonly string[] {
  return plans.map(({ name, change }) => `git hook ${name} in ${path}: ${CHANGES[change]}`);
}
