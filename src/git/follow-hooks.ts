// The hooks of followed repositories, in every folder in which git looks for them.
import { randomBytes } from "node:crypto";
import { KeyedTurns } from "../lib/keyed-turns.ts";
import { filesOf } from "./account-files.ts";
import type { Files } from "./files.ts";
import type { FollowEntry, FollowList } from "./follow-list.ts";
import type { Git } from "./git.ts";
import type { HookTarget } from "./hook-script.ts";
import { type HookFolder, type HookPlan, installHooks, planHooks, removeHooks } from "./hooks.ts";
import { excludeHooks, excludePatterns, hookFolders } from "./hooks-places.ts";
import type { Repository } from "./repository.ts";

type Place = Pick<Repository, "mainRoot" | "commonDir">;

/** The folders that hold ours, and one sentence for each thing that was done or left. */
export type Installed = { readonly folders: readonly string[]; readonly steps: readonly string[] };

type Foreseen = Pick<FollowEntry, "hookFolders" | "hookKey">;

const KEY_BYTES = 24;

export class FollowHooks {
  readonly #list: FollowList;
  readonly #target: HookTarget;
  readonly #forOthers: () => Promise<string | undefined>;
  /** By folder: several repositories may have one. */
  readonly #turns = new KeyedTurns();

  /** `forOthers`: the socket at which hooks of other users say their key, on a server of root that has one. */
  constructor(parts: {
    readonly list: FollowList;
    readonly target: HookTarget;
    readonly forOthers?: () => Promise<string | undefined>;
  }) {
    this.#list = parts.list;
    this.#target = parts.target;
    this.#forOthers = parts.forOthers ?? (async () => undefined);
  }

  /** Where `install` will put them, and what those of another user are to say; for the list. */
  async foresee(git: Git, { mainRoot }: Place, worktreePath: string): Promise<Foreseen> {
    const folders = await hookFolders(git, [mainRoot, worktreePath]);
    const paths = folders.filter(({ isDenied }) => !isDenied).map(({ path }) => path);
    if (git.account === undefined) return { hookFolders: paths };
    // A hook that several repositories have says one key.
    const sharing = this.#list.entries.find(
      ({ repoPath, account, hookFolders: others }) =>
        account === git.account && (repoPath === mainRoot || others.some((path) => paths.includes(path))),
    );
    const hookKey = sharing?.hookKey ?? randomBytes(KEY_BYTES).toString("base64url");
    return { hookFolders: paths, hookKey };
  }

  async install(git: Git, { mainRoot, commonDir }: Place, worktreePath: string): Promise<Installed> {
    const tops = [mainRoot, worktreePath];
    const folders = await hookFolders(git, tops);
    const files = filesOf(git);
    const steps = await this.plan(git, { mainRoot, commonDir }, worktreePath);
    const ours = folders.filter(({ isDenied }) => !isDenied);
    await excludeHooks(files, commonDir, excludePatterns(ours, tops));
    const target = await this.#targetOf(mainRoot);
    for (const folder of ours) {
      await this.#turns.take(folder.path, () => installHooks(files, folder, target));
    }
    return { folders: ours.map(({ path }) => path), steps };
  }

  async plan(git: Git, { mainRoot }: Place, worktreePath: string): Promise<readonly string[]> {
    const folders = await hookFolders(git, [mainRoot, worktreePath]);
    const files = filesOf(git);
    const plans = await Promise.all(
      folders.map(async (folder) => sentences(folder, await planHooks(files, folder))),
    );
    return plans.flat();
  }

  /**
   * Everywhere they were put, but for folders that another followed repository has as well. Without a `commonDir` the
   * repository is gone: they may be in a folder that is not.
   */
  async remove(
    git: Git,
    { mainRoot, commonDir }: Pick<Place, "mainRoot"> & { readonly commonDir: string | undefined },
  ): Promise<void> {
    const own = this.#list.get(mainRoot)?.hookFolders ?? [];
    const files = filesOf(git);
    for (const folder of own) await this.#turns.take(folder, () => this.#leave(files, folder, mainRoot));
    if (commonDir !== undefined) await excludeHooks(files, commonDir, []);
  }

  /** Of those that go at once the last one takes them away. */
  async #leave(files: Files, folder: string, mainRoot: string): Promise<void> {
    const others = this.#list.entries.filter(({ repoPath }) => repoPath !== mainRoot);
    const isInUse = others.some(({ hookFolders: paths }) => paths.includes(folder));
    if (!isInUse) await removeHooks(files, folder);
    const entry = this.#list.get(mainRoot);
    if (entry === undefined) return;
    await this.#list.set({ ...entry, hookFolders: entry.hookFolders.filter((path) => path !== folder) });
  }

  async #targetOf(mainRoot: string): Promise<HookTarget> {
    const key = this.#list.get(mainRoot)?.hookKey;
    const socket = key === undefined ? undefined : await this.#forOthers();
    if (key === undefined || socket === undefined) return this.#target;
    const { node, main } = this.#target;
    return { node, main, socket, key };
  }
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
