// Our git hooks in a repository: put beside what was there, and taken away without a trace (contract 7.4).
import { isAbsolute, join } from "node:path";
import {
  type FoundFile,
  keepFile,
  linkFile,
  makeFolder,
  moveFile,
  readFound,
  removeEmptyFolder,
  removeFile,
  writeFile,
} from "./files.ts";
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
  /** "kept": ours comes, and the one that is there runs first. "same": it is there already. For others see HookFolder. */
  readonly change: "new" | "kept" | "same" | "tracked" | "denied";
};

/** A folder in which git looks for hooks. */
export type HookFolder = {
  readonly path: string;
  /** Those that are files of the repository: they are not ours to change. */
  readonly tracked: readonly HookName[];
  /** Whose repository it is may not write there, as in a folder for everybody on the machine: nothing is changed. */
  readonly isDenied: boolean;
};

/** What `installHooks` would do there. */
export async function planHooks(folder: HookFolder): Promise<readonly HookPlan[]> {
  return await Promise.all(
    HOOK_NAMES.map(async (name): Promise<HookPlan> => {
      if (folder.tracked.includes(name)) return { name, change: "tracked" };
      const there = await readHook(join(folder.path, name));
      if (there?.isOurs) return { name, change: "same" };
      if (folder.isDenied) return { name, change: "denied" };
      return { name, change: there === undefined ? "new" : "kept" };
    }),
  );
}

/**
 * Puts our hooks into the folder. What is there is kept as it is, with its mode, and there is no moment without it.
 * Done twice it changes nothing.
 */
export async function installHooks(folder: HookFolder, target: HookTarget): Promise<void> {
  if (folder.isDenied) return;
  const isFolderOurs = await makeFolder(folder.path);
  for (const name of HOOK_NAMES) {
    if (!folder.tracked.includes(name)) await installHook(folder.path, name, target, isFolderOurs);
  }
}

/** Takes them away, and puts back what was there, also where ours is gone. What is not ours stays. */
export async function removeHooks(folder: string): Promise<void> {
  let isFolderOurs = false;
  for (const name of HOOK_NAMES) {
    const path = join(folder, name);
    const there = await readHook(path);
    isFolderOurs ||= there?.isOurs === true && isFolderMade(there.text);
    if (there?.isOurs === false) await dropCopy(folder, name);
    else if (!(await putBack(folder, name))) await removeFile(path);
  }
  await removeEmptyFolder(join(folder, KEPT_FOLDER));
  if (isFolderOurs) await removeEmptyFolder(folder);
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
  await writeFile(path, new TextEncoder().encode(script), mode);
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
  return found && described(found);
}

function described({ bytes, isWhole, mode, target }: FoundFile): FoundHook {
  const text = new TextDecoder().decode(bytes);
  const isLink = target !== undefined;
  return { text, isOurs: isWhole && isOurHook(text), mode: isLink ? NEW_HOOK_MODE : mode, target };
}

/** The very file, under a second name: not a byte of it is written. */
async function keep(folder: string, name: HookName, there: FoundHook): Promise<KeptHook> {
  await makeFolder(join(folder, KEPT_FOLDER));
  const kept = join(folder, KEPT_FOLDER, name);
  // What was kept before and is not in use any more: somebody has put another hook in place of ours.
  await removeFile(kept);
  const { target } = there;
  if (target === undefined) await keepFile(join(folder, name), kept);
  else await linkFile(isAbsolute(target) ? target : `${FOLDER_ABOVE}${target}`, kept);
  return howRun(there);
}

async function describeKept(folder: string, name: HookName): Promise<KeptHook | undefined> {
  const kept = await readHook(join(folder, KEPT_FOLDER, name));
  return kept && howRun(kept);
}

function howRun({ text, target }: FoundHook): KeptHook {
  // By its real name it finds what is beside it.
  return target === undefined ? keptHook(text) : { kind: "program" };
}

/** Somebody has put a hook in place of ours: where it is the one that was kept, as of husky's own set-up, once is enough. */
async function dropCopy(folder: string, name: HookName): Promise<void> {
  const kept = join(folder, KEPT_FOLDER, name);
  const [there, copy] = await Promise.all([readFound(join(folder, name)), readFound(kept)]);
  const isSame = there?.isWhole && copy?.isWhole && Buffer.compare(there.bytes, copy.bytes) === 0;
  if (isSame) await removeFile(kept);
}

/** Whether there was anything to put back. */
async function putBack(folder: string, name: HookName): Promise<boolean> {
  const path = join(folder, name);
  const kept = join(folder, KEPT_FOLDER, name);
  const found = await readFound(kept);
  if (found === undefined) return false;
  const { target } = found;
  if (target === undefined) {
    await moveFile(kept, path);
  } else {
    await linkFile(target.startsWith(FOLDER_ABOVE) ? target.slice(FOLDER_ABOVE.length) : target, path);
    await removeFile(kept);
  }
  return true;
}
