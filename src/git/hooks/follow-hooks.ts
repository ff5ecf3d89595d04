// The hooks of followed repositories, in every folder in which git looks for them: one for all trees, or with a relative
// core.hooksPath one in each tree.
import { access, chmod, constants, rm } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { Mutex } from "../../lib/async/mutex.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { replaceFile } from "../../lib/fs/atomic-file.ts";
import type { FollowEntry, FollowList } from "../follow/list.ts";
import type { Git } from "../git.ts";
import type { Repository } from "../repository.ts";
import { isWritable, permitted, readFound } from "./files.ts";
import { HOOK_NAMES, type HookTarget, KEPT_FOLDER } from "./hook-script.ts";
import { type HookFolder, installHooks, planHooks, removeHooks } from "./hooks.ts";

const BEGIN = "# ttyhq hooks: begin";
const END = "# ttyhq hooks: end";

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
    const steps = await permitted(() => Promise.all(all.map(planHooks)));
    return { steps: steps.flat(), folders: all.filter(({ isDenied }) => !isDenied), tops };
  }

  /** Installs planned hooks, and removes those in `former` folders. The repository must be in the list. */
  async install(
    { folders, tops }: HooksPlan,
    commonDir: string,
    former: readonly string[] = [],
  ): Promise<void> {
    await this.#inTurn(async () => {
      await excludeHooks(commonDir, excludePatterns(folders, tops));
      for (const folder of folders) await installHooks(folder, this.#target);
      await removeUnused(former, this.#list.entries);
    });
  }

  /**
   * Removes the repository from the list, and the hooks from all folders that no other followed repository uses.
   * Without a `commonDir` the repository is gone.
   */
  async remove(mainRoot: string, commonDir: string | undefined): Promise<void> {
    await this.#inTurn(async () => {
      const others = this.#list.entries.filter(({ repoPath }) => repoPath !== mainRoot);
      await removeUnused(this.#list.get(mainRoot)?.hookFolders ?? [], others);
      if (commonDir !== undefined) await excludeHooks(commonDir, []);
      await this.#list.delete(mainRoot);
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    return this.#mutex.take(() => permitted(work));
  }
}

/** Removes our hooks from the folders that none of the entries uses. */
async function removeUnused(folders: readonly string[], entries: readonly FollowEntry[]): Promise<void> {
  const used = new Set(entries.flatMap(({ hookFolders }) => hookFolders));
  for (const folder of folders) if (!used.has(folder)) await removeHooks(folder);
}

/** The hook folders of the trees with these tops, without duplicates. */
async function hookFolders(git: Git, tops: readonly string[]): Promise<readonly HookFolder[]> {
  const folders = new Map<string, HookFolder>();
  const trees = tops.map((top) => git.at(top));
  for (const here of trees) {
    // As a change: read-only git has no hooks path.
    const run = await here.tryWrite(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]);
    const path = run.stdout.replace(/\n$/, "");
    if (run.code !== 0 || !isAbsolute(path) || path === "/dev/null" || folders.has(path)) continue;
    const [tracked, mayWrite] = await Promise.all([
      trackedIn(trees, relative(here.cwd, path)),
      isWritable(path),
    ]);
    folders.set(path, { path, tracked, isDenied: !mayWrite });
  }
  return [...folders.values()];
}

/** Has git ignore hooks among the files of a tree, by `info/exclude`, so that a worktree can be removed as before. */
async function excludeHooks(commonDir: string, patterns: readonly string[]): Promise<void> {
  const path = join(commonDir, "info/exclude");
  // Without it git status lists the hooks as untracked.
  if (!(await succeeded(access(dirname(path), constants.W_OK)))) return;
  const found = await readFound(path);
  if (found !== undefined && found.bytes === undefined) return;
  const before = found?.bytes?.toString("latin1") ?? "";
  const kept = withoutBlock(before);
  // Each byte of UTF-8 as one character: the file may be in any encoding.
  const lines = [BEGIN, ...patterns, END].map((line) => `${Buffer.from(line).toString("latin1")}\n`);
  const block = patterns.length === 0 ? "" : lines.join("");
  const gap = kept === "" || kept.endsWith("\n") || block === "" ? "" : "\n";
  const after = `${kept}${gap}${block}`;
  if (after === before) return;
  const mode = found?.mode ?? 0o644;
  if (after === "") return await rm(path, { force: true });
  await replaceFile(path, Buffer.from(after, "latin1"), mode);
  await chmod(path, mode);
}

function excludePatterns(folders: readonly HookFolder[], tops: readonly string[]): readonly string[] {
  const patterns = folders.flatMap(({ path, tracked }) => {
    const inside = tops.map((top) => relative(top, path)).find(isInside);
    if (inside === undefined) return [];
    const names = HOOK_NAMES.filter((name) => !tracked.includes(name));
    return [...names, `${KEPT_FOLDER}/`].map((name) => `/${escaped(inside)}/${name}`);
  });
  return [...new Set(patterns)];
}

/** Hooks that any of the trees tracks there: a new file in one tree would be in the way of the other's commits. */
async function trackedIn(trees: readonly Git[], folder: string): Promise<HookFolder["tracked"]> {
  if (!isInside(folder)) return [];
  const found = await Promise.all(
    HOOK_NAMES.map(async (name) => {
      const args = ["ls-files", "--error-unmatch", "--", `:(top,literal)${folder}/${name}`];
      const runs = await Promise.all(trees.map((tree) => tree.try(...args)));
      return runs.some(({ code }) => code === 0) ? [name] : [];
    }),
  );
  return found.flat();
}

/** Below the tree's top, and not in `.git`. */
function isInside(path: string): boolean {
  return path !== "" && !isAbsolute(path) && !/^(?:\.\.|\.git)(?:\/|$)/.test(path);
}

function escaped(path: string): string {
  return path.replace(/[\\*?[\]! #]/g, "\\$&");
}

function withoutBlock(text: string): string {
  const begin = text.indexOf(`${BEGIN}\n`);
  const end = text.indexOf(`${END}\n`, begin);
  if (begin === -1 || end === -1) return text;
  return text.slice(0, begin) + text.slice(end + END.length + 1);
}
