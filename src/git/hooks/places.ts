// The folders in which git looks for hooks: one for all trees, or with a relative core.hooksPath one in each tree.
import { access, chmod, constants, rm } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { succeeded } from "../../lib/async/succeeded.ts";
import { replaceFile } from "../../lib/fs/atomic-file.ts";
import type { Git } from "../git.ts";
import { isWritable, readFound } from "./files.ts";
import { HOOK_NAMES, KEPT_FOLDER } from "./hook-script.ts";
import type { HookFolder } from "./hooks.ts";

const BEGIN = "# ttyhq hooks: begin";
const END = "# ttyhq hooks: end";

/** The hook folders of the trees with these tops, without duplicates. */
export async function hookFolders(git: Git, tops: readonly string[]): Promise<readonly HookFolder[]> {
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
export async function excludeHooks(commonDir: string, patterns: readonly string[]): Promise<void> {
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

export function excludePatterns(folders: readonly HookFolder[], tops: readonly string[]): readonly string[] {
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
