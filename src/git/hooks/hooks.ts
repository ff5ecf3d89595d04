// Our git hooks in a folder: installed beside the hooks that are there, and removed without a trace (contract 7.4).
import { chmod, link, mkdir, rename, rm, symlink } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { replaceFile } from "../../lib/fs/atomic-file.ts";
import { type FoundFile, readFound, removeEmptyFolder } from "./files.ts";
import {
  HOOK_NAMES,
  type HookName,
  type HookTarget,
  hookScript,
  isFolderMade,
  isOurHook,
  KEPT_FOLDER,
  keptHook,
} from "./hook-script.ts";

const NEW_HOOK_MODE = 0o755;
const EXECUTABLE = 0o111;
const FOLDER_ABOVE = "../";

export type HookFolder = {
  readonly path: string;
  readonly tracked: readonly HookName[];
  /** The repository's owner may not write there, as in a folder of the whole machine: nothing is changed. */
  readonly isDenied: boolean;
};

/** A sentence for each hook that says what `installHooks` does with it. */
export async function planHooks(folder: HookFolder): Promise<readonly string[]> {
  return await Promise.all(
    HOOK_NAMES.map(async (name) => `git hook ${name} in ${folder.path}: ${await planHook(folder, name)}`),
  );
}

async function planHook({ path, tracked, isDenied }: HookFolder, name: HookName): Promise<string> {
  if (tracked.includes(name)) return "is a file of the repository and left alone";
  const found = await readHook(join(path, name));
  if (found?.isOurs) return "is there already";
  if (isDenied) return "may not be written, and is left out";
  return found === undefined ? "is new" : "runs the hook that is there first";
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
    const [path, keptPath] = [join(folder, name), join(folder, KEPT_FOLDER, name)];
    const [found, kept] = [await readHook(path), await readFound(keptPath)];
    isFolderOurs ||= found?.isOurs === true && isFolderMade(found.text);
    if (found === undefined || found.isOurs) {
      if (kept === undefined) await rm(path, { force: true });
      else await restore(path, keptPath, kept);
    } else if (found.bytes !== undefined && kept?.bytes?.equals(found.bytes)) {
      // The kept hook is in place of ours again, as after another run of husky's set-up: it must run once.
      await rm(keptPath);
    }
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
  const [path, keptPath] = [join(folder, name), join(folder, KEPT_FOLDER, name)];
  const found = await readHook(path);
  if (found?.isOurs === false) await keep(path, keptPath, found);
  const kept = found?.isOurs ? await readHook(keptPath) : found;
  const isFolderOurs = isNewFolder || (found?.isOurs === true && isFolderMade(found.text));
  // A link's target is run by its real name, and so finds the files beside it.
  const run = kept && (kept.target === undefined ? keptHook(kept.text) : ({ kind: "program" } as const));
  const script = hookScript(name, target, { kept: run, isFolderOurs });
  if (found?.isOurs && found.text === script) return;
  const mode = found !== undefined && (found.mode & EXECUTABLE) !== 0 ? found.mode : NEW_HOOK_MODE;
  await replaceFile(path, new TextEncoder().encode(script), mode);
  // Whatever the umask.
  await chmod(path, mode);
}

type FoundHook = FoundFile & { readonly text: string; readonly isOurs: boolean };

/** `undefined`: no such file. */
async function readHook(path: string): Promise<FoundHook | undefined> {
  const found = await readFound(path);
  if (found === undefined) return undefined;
  const text = new TextDecoder().decode(found.bytes);
  const mode = found.target === undefined ? found.mode : NEW_HOOK_MODE;
  return { ...found, text, mode, isOurs: isOurHook(text) };
}

/** Gives the user's hook a second name: its bytes are not written. */
async function keep(path: string, keptPath: string, { target }: FoundFile): Promise<void> {
  await mkdir(dirname(keptPath), { recursive: true });
  // An older copy is out of use: another hook has replaced ours.
  await rm(keptPath, { force: true });
  // Some file systems have no hard links.
  if (target === undefined) await link(path, keptPath).catch(() => rename(path, keptPath));
  else await symlink(isAbsolute(target) ? target : `${FOLDER_ABOVE}${target}`, keptPath);
}

async function restore(path: string, keptPath: string, { target }: FoundFile): Promise<void> {
  if (target === undefined) return await rename(keptPath, path);
  await rm(path, { force: true });
  await symlink(target.startsWith(FOLDER_ABOVE) ? target.slice(FOLDER_ABOVE.length) : target, path);
  await rm(keptPath);
}
