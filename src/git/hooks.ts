// Our git hooks in a repository: put beside what was there, and taken away without a trace (contract 7.4).
import { isAbsolute, join } from "node:path";
import type { Files, FoundFile } from "./files.ts";
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
export async function planHooks(files: Files, folder: HookFolder): Promise<readonly HookPlan[]> {
  return await Promise.all(
    HOOK_NAMES.map(async (name): Promise<HookPlan> => {
      if (folder.tracked.includes(name)) return { name, change: "tracked" };
      const there = await readHook(files, join(folder.path, name));
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
export async function installHooks(files: Files, folder: HookFolder, target: HookTarget): Promise<void> {
  if (folder.isDenied) return;
  const isFolderOurs = await files.makeFolder(folder.path);
  for (const name of HOOK_NAMES) {
    if (!folder.tracked.includes(name)) await installHook(files, folder.path, name, target, isFolderOurs);
  }
}

/** Takes them away, and puts back what was there, also where ours is gone. What is not ours stays. */
export async function removeHooks(files: Files, folder: string): Promise<void> {
  let isFolderOurs = false;
  for (const name of HOOK_NAMES) {
    const path = join(folder, name);
    const there = await readHook(files, path);
    isFolderOurs ||= there?.isOurs === true && isFolderMade(there.text);
    if (there?.isOurs === false) await dropCopy(files, folder, name);
    else if (!(await putBack(files, folder, name))) await files.remove(path);
  }
  await files.removeEmpty(join(folder, KEPT_FOLDER));
  if (isFolderOurs) await files.removeEmpty(folder);
}

async function installHook(
  files: Files,
  folder: string,
  name: HookName,
  target: HookTarget,
  isFolderOurs: boolean,
): Promise<void> {
  const path = join(folder, name);
  const there = await readHook(files, path);
  const kept = there?.isOurs
    ? await describeKept(files, folder, name)
    : there && (await keep(files, folder, name, there));
  const isFolderMadeByUs = isFolderOurs || (there?.isOurs === true && isFolderMade(there.text));
  const script = hookScript(name, target, { kept, isFolderOurs: isFolderMadeByUs });
  if (there?.isOurs && there.text === script) return;
  const mode = there !== undefined && (there.mode & EXECUTABLE) !== 0 ? there.mode : NEW_HOOK_MODE;
  await files.write(path, new TextEncoder().encode(script), mode);
}

type FoundHook = {
  readonly text: string;
  readonly isOurs: boolean;
  readonly mode: number;
  readonly target: string | undefined;
};

/** `undefined`: no such file. */
async function readHook(files: Files, path: string): Promise<FoundHook | undefined> {
  const found = await files.look(path);
  return found && described(found);
}

function described({ bytes, isWhole, mode, target }: FoundFile): FoundHook {
  const text = new TextDecoder().decode(bytes);
  const isLink = target !== undefined;
  return { text, isOurs: isWhole && isOurHook(text), mode: isLink ? NEW_HOOK_MODE : mode, target };
}

/** The very file, under a second name: not a byte of it is written. */
async function keep(files: Files, folder: string, name: HookName, there: FoundHook): Promise<KeptHook> {
  await files.makeFolder(join(folder, KEPT_FOLDER));
  const kept = join(folder, KEPT_FOLDER, name);
  // What was kept before and is not in use any more: somebody has put another hook in place of ours.
  await files.remove(kept);
  const { target } = there;
  if (target === undefined) await files.keep(join(folder, name), kept);
  else await files.link(isAbsolute(target) ? target : `${FOLDER_ABOVE}${target}`, kept);
  return howRun(there);
}

async function describeKept(files: Files, folder: string, name: HookName): Promise<KeptHook | undefined> {
  const kept = await readHook(files, join(folder, KEPT_FOLDER, name));
  return kept && howRun(kept);
}

function howRun({ text, target }: FoundHook): KeptHook {
  // By its real name it finds what is beside it.
  return target === undefined ? keptHook(text) : { kind: "program" };
}

/** Somebody has put a hook in place of ours: where it is the one that was kept, as of husky's own set-up, once is enough. */
async function dropCopy(files: Files, folder: string, name: HookName): Promise<void> {
  const kept = join(folder, KEPT_FOLDER, name);
  const [there, copy] = await Promise.all([files.look(join(folder, name)), files.look(kept)]);
  const isSame = there?.isWhole && copy?.isWhole && Buffer.compare(there.bytes, copy.bytes) === 0;
  if (isSame) await files.remove(kept);
}

/** Whether there was anything to put back. */
async function putBack(files: Files, folder: string, name: HookName): Promise<boolean> {
  const path = join(folder, name);
  const kept = join(folder, KEPT_FOLDER, name);
  const found = await files.look(kept);
  if (found === undefined) return false;
  const { target } = found;
  if (target === undefined) {
    await files.move(kept, path);
  } else {
    await files.link(target.startsWith(FOLDER_ABOVE) ? target.slice(FOLDER_ABOVE.length) : target, path);
    await files.remove(kept);
  }
  return true;
}
