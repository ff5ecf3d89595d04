// Where git looks for the hooks of a repository: one folder, or with a relative core.hooksPath one in each tree.
import { isAbsolute, join, relative } from "node:path";
import type { Git } from "../git.ts";
import { isWritable, openOwnFolder, readFound, removeFile, writeFile } from "./files.ts";
import { HOOK_NAMES, KEPT_FOLDER } from "./hook-script.ts";
import type { HookFolder } from "./hooks.ts";

const BEGIN = "# ttyhq hooks: begin";
const END = "# ttyhq hooks: end";

/** `git` in one tree after the other; their tops. A folder that several share is there once. */
export async function hookFolders(git: Git, tops: readonly string[]): Promise<readonly HookFolder[]> {
  const folders = new Map<string, HookFolder>();
  for (const top of tops) {
    const here = git.at(top);
    // Not as a question, for which git is told that there are no hooks.
    const run = await here.tryWrite(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]);
    const path = run.stdout.replace(/\n$/, "");
    if (run.code !== 0 || !isAbsolute(path) || path === "/dev/null" || folders.has(path)) continue;
    const [tracked, mayWrite] = await Promise.all([trackedIn(here, top, path), isWritable(path)]);
    folders.set(path, { path, tracked, isDenied: !mayWrite });
  }
  return [...folders.values()];
}

/**
 * Hooks that lie among the files of a tree are no files of the repository: git is told so in its own `info/exclude`,
 * which is nobody else's, and a worktree can be removed as before.
 */
export async function excludeHooks(commonDir: string, patterns: readonly string[]): Promise<void> {
  await using info = await openOwnFolder(join(commonDir, "info"));
  // Without it the repository shows the hooks as untracked: no more than that.
  if (info === undefined) return;
  const path = join(info.path, "exclude");
  const found = await readFound(path);
  if (found?.isWhole === false) return;
  const before = latin1(found?.bytes ?? new Uint8Array());
  const kept = withoutBlock(before);
  const block =
    patterns.length === 0 ? "" : `${BEGIN}\n${patterns.map((one) => `${utf8(one)}\n`).join("")}${END}\n`;
  const gap = kept === "" || kept.endsWith("\n") || block === "" ? "" : "\n";
  const after = `${kept}${gap}${block}`;
  if (after === before) return;
  if (after === "") await removeFile(path);
  else await writeFile(path, Buffer.from(after, "latin1"), found?.mode ?? 0o644);
}

/** What `excludeHooks` takes for folders inside these trees. */
export function excludePatterns(folders: readonly HookFolder[], tops: readonly string[]): readonly string[] {
  const patterns = folders.flatMap(({ path, tracked }) => {
    const inside = tops.map((top) => relative(top, path)).find(isInside);
    if (inside === undefined) return [];
    const names = HOOK_NAMES.filter((name) => !tracked.includes(name));
    return [...names, `${KEPT_FOLDER}/`].map((name) => `/${escaped(inside)}/${name}`);
  });
  return [...new Set(patterns)];
}

async function trackedIn(git: Git, top: string, folder: string): Promise<HookFolder["tracked"]> {
  const inside = relative(top, folder);
  if (!isInside(inside)) return [];
  const found = await Promise.all(
    HOOK_NAMES.map(async (name) => {
      const run = await git.try("ls-files", "--error-unmatch", "--", `:(top,literal)${inside}/${name}`);
      return run.code === 0 ? [name] : [];
    }),
  );
  return found.flat();
}

/** Not git's own folder, nor one of another place. */
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

/** Every byte as one character: what others have written there may be in any encoding. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

function utf8(text: string): string {
  return latin1(new TextEncoder().encode(text));
}
