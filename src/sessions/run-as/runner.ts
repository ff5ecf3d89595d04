// As whom a session's program is started, and how that user sees the machine.
import { access, constants, stat } from "node:fs/promises";
import { delimiter, resolve } from "node:path";
import type { PtyProgram } from "../pty/pty.ts";
import type { Account, BaseEnv } from "./launch-env.ts";

/** Of this process's own user, whose groups and limits are those of this process. */
export const OWN_IDENTITY = "";

export type Runner = {
  readonly account: Account;
  /** The same as long as a program would get the same ids, groups and limits. */
  readonly identity: string;
  /** What a program's environment starts from. */
  readonly env: BaseEnv;
  /** Why a program cannot be started in this directory; `undefined` where it can. */
  directoryProblem(path: string): Promise<DirectoryProblem | undefined>;
  /** Whether execvp(3) would find that program, in `cwd` and with the PATH `path`. */
  hasProgram(file: string, place: { readonly cwd: string; readonly path: string }): Promise<boolean>;
  /** What has to run in the terminal for the program to be that user's. */
  inTerminal(program: PtyProgram): PtyProgram;
  /** The same for a program without a terminal that keeps descriptor 3, and gains no privileges. */
  asWorker(program: Program): Program;
};

export type Program = Pick<PtyProgram, "file" | "args" | "env">;

export type DirectoryProblem =
  | "no such directory"
  | "not a directory"
  | "no permission to enter the directory";

/** Programs run as this process's own user. */
export function ownRunner(account: Account, env: BaseEnv): Runner {
  return {
    account,
    identity: OWN_IDENTITY,
    env,
    directoryProblem,
    hasProgram,
    inTerminal: (program) => program,
    asWorker: (program) => program,
  };
}

/** Where a program is looked for: the folders of the PATH, or its own place where it has a slash. */
export function placesOf(
  file: string,
  { cwd, path }: { readonly cwd: string; readonly path: string },
): string[] {
  if (file.includes("/")) return [resolve(cwd, file)];
  return path.split(delimiter).map((folder) => resolve(cwd, folder));
}

async function directoryProblem(path: string): Promise<DirectoryProblem | undefined> {
  try {
    if (!(await stat(path)).isDirectory()) return "not a directory";
  } catch {
    return "no such directory";
  }
  return (await isAllowed(path)) ? undefined : "no permission to enter the directory";
}

async function hasProgram(
  file: string,
  place: { readonly cwd: string; readonly path: string },
): Promise<boolean> {
  for (const at of placesOf(file, place)) {
    if (await isProgram(file.includes("/") ? at : resolve(at, file))) return true;
  }
  return false;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile() && (await isAllowed(path));
  } catch {
    return false;
  }
}

/** Whether a file may be run, or a directory entered. */
async function isAllowed(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
