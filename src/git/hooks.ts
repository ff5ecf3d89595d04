// Our git hooks in a repository: put beside what was there, and taken away without a trace (contract 7.4).
import {
  chown,
  link,
  lstat,
  mkdir,
  open,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
} from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { isErrno, replaceFile } from "../lib/atomic-file.ts";
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
/** Enough for a first line, in bytes. */
const FIRST_LINE_BYTES = 512;
/** Longer than any that we write, in bytes. */
const MAX_OUR_HOOK_BYTES = 65_536;

export type HookPlan = {
  readonly name: HookName;
  /** "kept": ours comes, and the one that is there runs first. "same": it is there already. "tracked": see HookFolder. */
  readonly change: "new" | "kept" | "same" | "tracked";
};

/** A folder in which git looks for hooks, and which of them are files of the repository: those are not ours to change. */
export type HookFolder = { readonly path: string; readonly tracked: readonly HookName[] };

/** What `installHooks` would do there. */
export async function planHooks(folder: HookFolder): Promise<readonly HookPlan[]> {
  return await Promise.all(
    HOOK_NAMES.map(async (name): Promise<HookPlan> => {
      if (folder.tracked.includes(name)) return { name, change: "tracked" };
      const there = await readHook(join(folder.path, name));
      if (there === undefined) return { name, change: "new" };
      return { name, change: there.isOurs ? "same" : "kept" };
    }),
  );
}

/**
 * Puts our hooks into the folder. What is there is kept as it is, with its mode, and there is no moment without it.
 * Done twice it changes nothing. As root, everything belongs to whom the folder belongs to.
 */
export async function installHooks(folder: HookFolder, target: HookTarget): Promise<void> {
  const isFolderOurs = await makeFolder(folder.path);
  for (const name of HOOK_NAMES) {
    if (!folder.tracked.includes(name)) await installHook(folder.path, name, target, isFolderOurs);
  }
}

/** Takes them away, and puts back what was there. What is not ours stays. */
export async function removeHooks(folder: string): Promise<void> {
  let isFolderOurs = false;
  for (const name of HOOK_NAMES) {
    const path = join(folder, name);
    const there = await readHook(path);
    if (!there?.isOurs) continue;
    isFolderOurs ||= isFolderMade(there.text);
    if (!(await putBack(folder, name))) await rm(path, { force: true });
  }
  await removeEmpty(join(folder, KEPT_FOLDER));
  if (isFolderOurs) await removeEmpty(folder);
}

async function installHook(
  folder: string,
  name: HookName,
  target: HookTarget,
  isFolderOurs: boolean,
): Promise<void> {
  const path = join(folder, name);
  const there = await readHook(path);
  const kept = there?.isOurs ? await describeKept(folder, name) : there && (await keep(folder, name, there));
  const isFolderMadeByUs = isFolderOurs || (there?.isOurs === true && isFolderMade(there.text));
  const script = hookScript(name, target, { kept, isFolderOurs: isFolderMadeByUs });
  if (there?.isOurs && there.text === script) return;
  const mode = there !== undefined && (there.mode & EXECUTABLE) !== 0 ? there.mode : NEW_HOOK_MODE;
  await replaceFile(path, new TextEncoder().encode(script), mode);
  await setMode(path, mode);
  await give(path, folder);
}

type FoundHook = {
  readonly text: string;
  readonly isOurs: boolean;
  readonly mode: number;
  readonly isLink: boolean;
};

/** `undefined`: no such file. */
async function readHook(path: string): Promise<FoundHook | undefined> {
  try {
    const found = await lstat(path);
    const isLink = found.isSymbolicLink();
    if (isLink || found.size > MAX_OUR_HOOK_BYTES) {
      return { text: await firstBytes(path), isOurs: false, mode: NEW_HOOK_MODE, isLink };
    }
    const text = await readFile(path, "latin1");
    const isOurs = isOurHook(text);
    return { text: isOurs ? await readFile(path, "utf8") : text, isOurs, mode: found.mode & 0o7777, isLink };
  } catch (error) {
    if (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR")) return undefined;
    throw error;
  }
}

/** The very file, under a second name: not a byte of it is written. */
async function keep(folder: string, name: HookName, { text, isLink }: FoundHook): Promise<KeptHook> {
  const keptFolder = join(folder, KEPT_FOLDER);
  await mkdir(keptFolder, { recursive: true });
  await give(keptFolder, folder);
  const path = join(folder, name);
  const kept = join(keptFolder, name);
  // What was kept before and is not in use any more: somebody has put another hook in place of ours.
  await rm(kept, { force: true });
  if (isLink) await symlink(fromBelow(await readlink(path)), kept);
  else await link(path, kept).catch(() => rename(path, kept));
  // By its real name it finds what is beside it.
  return isLink ? { kind: "program" } : keptHook(text);
}

async function describeKept(folder: string, name: HookName): Promise<KeptHook | undefined> {
  const kept = await readHook(join(folder, KEPT_FOLDER, name));
  if (kept === undefined) return undefined;
  return kept.isLink ? { kind: "program" } : keptHook(kept.text);
}

/** Whether there was anything to put back. */
async function putBack(folder: string, name: HookName): Promise<boolean> {
  const path = join(folder, name);
  const kept = join(folder, KEPT_FOLDER, name);
  try {
    const found = await lstat(kept);
    if (found.isSymbolicLink()) {
      const target = await readlink(kept);
      await rm(path, { force: true });
      await symlink(isAbsolute(target) ? target : target.replace(/^\.\.\//, ""), path);
      await rm(kept, { force: true });
    } else {
      await rename(kept, path);
    }
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR")) return false;
    throw error;
  }
}

function fromBelow(target: string): string {
  return isAbsolute(target) ? target : `../${target}`;
}

async function firstBytes(path: string): Promise<string> {
  try {
    await using file = await open(path, "r");
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_LINE_BYTES), 0, FIRST_LINE_BYTES, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } catch {
    return "";
  }
}

async function makeFolder(path: string): Promise<boolean> {
  const made = await mkdir(path, { recursive: true });
  if (made !== undefined) await give(path, join(path, ".."));
  return made !== undefined;
}

/** Whatever the umask allows less. */
async function setMode(path: string, mode: number): Promise<void> {
  await using file = await open(path, "r");
  await file.chmod(mode);
}

/** A server that is root leaves nothing of root's in the repository of somebody else. */
async function give(path: string, like: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(like);
  await chown(path, uid, gid);
}

async function removeEmpty(path: string): Promise<void> {
  await rmdir(path).catch(() => undefined);
}
