// Our git hooks in a folder: installed beside the hooks that are there, and removed without a trace (contract 7.4).
import { chmod, link, mkdir, rename, rm, symlink } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { replaceFile } from "../../lib/fs/atomic-file.ts";
import { readFound, removeEmptyFolder } from "./files.ts";
import {
  HOOK_NAMES,
  type HookName,
  type HookTarget,
  hookScript,
  isFolderMade,
  isOurHook,
  KEPT_FOLDER,
  type KeptHook,
  keptHook,
} from "./hook-script.ts";

const NEW_HOOK_MODE = 0o755;
const EXECUTABLE = 0o111;
const FOLDER_ABOVE = "../";

export type HookPlan = {
  readonly name: HookName;
  /** "kept": ours is installed and runs the present one first. "same": ours is there already. Others: see HookFolder. */
  readonly change: "new" | "kept" | "same" | "tracked" | "denied";
};

export type HookFolder = {
  readonly path: string;
  readonly tracked: readonly HookName[];
  /** The repository's owner may not write there, as in a folder of the whole machine: nothing is changed. */
  readonly isDenied: boolean;
};

export async function planHooks(folder: HookFolder): Promise<readonly HookPlan[]> {
  return await Promise.all(
    HOOK_NAMES.map(async (name): Promise<HookPlan> => {
      if (folder.tracked.includes(name)) return { name, change: "tracked" };
      const found = await readHook(join(folder.path, name));
      if (found?.isOurs) return { name, change: "same" };
      if (folder.isDenied) return { name, change: "denied" };
      return { name, change: found === undefined ? "new" : "kept" };
    }),
  );
}

/** Installs our hooks. An existing hook is kept unchanged, and is active until ours replaces it. Idempotent. */
export async function installHooks(folder: HookFolder, target: HookTarget | undefined): Promise<void> {
  if (folder.isDenied) return;
  const isFolderOurs = (await mkdir(folder.path, { recursive: true })) !== undefined;
  for (const name of HOOK_NAMES) {
    if (!folder.tracked.includes(name)) await installHook(folder.path, name, target, isFolderOurs);
  }
}

/** Removes our hooks and restores the hooks before them, also where ours is gone. Other hooks stay. */
export async function removeHooks(folder: string): Promise<void> {
  let isFolderOurs = false;
  for (const name of HOOK_NAMES) {
    const path = join(folder, name);
    const found = await readHook(path);
    isFolderOurs ||= found?.isOurs === true && isFolderMade(found.text);
    if (found?.isOurs === false) await dropCopy(folder, name);
    else if (!(await restore(folder, name))) await rm(path, { force: true });
  }
  await removeEmptyFolder(join(folder, KEPT_FOLDER));
  if (isFolderOurs) await removeEmptyFolder(folder);
}

async function installHook(
  folder: string,
  name: HookName,
  target: HookTarget | undefined,
  isNewFolder: boolean,
): Promise<void> {
  const path = join(folder, name);
  const found = await readHook(path);
  const kept = found?.isOurs
    ? await readHook(join(folder, KEPT_FOLDER, name))
    : found && (await keep(folder, name, found));
  const isFolderOurs = isNewFolder || (found?.isOurs === true && isFolderMade(found.text));
  const script = hookScript(name, target, { kept: kept && howRun(kept), isFolderOurs });
  if (found?.isOurs && found.text === script) return;
  const mode = found !== undefined && (found.mode & EXECUTABLE) !== 0 ? found.mode : NEW_HOOK_MODE;
  await replaceFile(path, new TextEncoder().encode(script), mode);
  // Whatever the umask.
  await chmod(path, mode);
}

type FoundHook = {
  readonly text: string;
  readonly isOurs: boolean;
  readonly mode: number;
  readonly target: string | undefined;
};

/** `undefined`: no such file. */
async function readHook(path: string): Promise<FoundHook | undefined> {
  const found = await readFound(path);
  if (found === undefined) return undefined;
  const { bytes, mode, target } = found;
  const text = new TextDecoder().decode(bytes);
  return { text, target, isOurs: isOurHook(text), mode: target === undefined ? mode : NEW_HOOK_MODE };
}

/** The same file under a second name: not a byte of it is written. */
async function keep(folder: string, name: HookName, hook: FoundHook): Promise<FoundHook> {
  const kept = join(folder, KEPT_FOLDER, name);
  const path = join(folder, name);
  await mkdir(join(folder, KEPT_FOLDER), { recursive: true });
  // An older copy is out of use: another hook has replaced ours.
  await rm(kept, { force: true });
  const { target } = hook;
  // Some file systems have no hard links.
  if (target === undefined) await link(path, kept).catch(() => rename(path, kept));
  else await symlink(isAbsolute(target) ? target : `${FOLDER_ABOVE}${target}`, kept);
  return hook;
}

/** A link's target is run by its real name, and so finds the files beside it. */
function howRun({ text, target }: FoundHook): KeptHook {
  return target === undefined ? keptHook(text) : { kind: "program" };
}

/** Drops a kept hook that is in place of ours again, as after another run of husky's set-up: it must run once. */
async function dropCopy(folder: string, name: HookName): Promise<void> {
  const kept = join(folder, KEPT_FOLDER, name);
  const [found, copy] = await Promise.all([readFound(join(folder, name)), readFound(kept)]);
  if (found?.bytes !== undefined && copy?.bytes?.equals(found.bytes)) await rm(kept);
}

/** Returns whether a hook was kept. */
async function restore(folder: string, name: HookName): Promise<boolean> {
  const path = join(folder, name);
  const kept = join(folder, KEPT_FOLDER, name);
  const found = await readFound(kept);
  if (found === undefined) return false;
  const { target } = found;
  if (target === undefined) {
    await rename(kept, path);
    return true;
  }
  await rm(path, { force: true });
  await symlink(target.startsWith(FOLDER_ABOVE) ? target.slice(FOLDER_ABOVE.length) : target, path);
  await rm(kept);
  return true;
}
