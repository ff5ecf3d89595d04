// As whom a session's program is started, and how that user sees the machine.
import { access, constants } from "node:fs/promises";
import { isErrno } from "../../lib/fs/atomic-file.ts";
import { findProgram } from "../pty/program-path.ts";
import type { PtyProgram } from "../pty/pty.ts";
import type { Account, BaseEnv } from "./launch-env.ts";

/** The identity of this process's own user. */
export const OWN_IDENTITY = "";

export type Runner = {
  readonly account: Account;
  /** Changes with the ids, groups and limits of a new program. */
  readonly identity: string;
  readonly env: BaseEnv;
  /** Why a program cannot be started in this directory; `undefined` where it can. */
  directoryProblem(path: string): Promise<string | undefined>;
  /** Whether execvp(3) would find the program in `cwd` with the PATH `path`. */
  hasProgram(file: string, place: { readonly cwd: string; readonly path: string }): Promise<boolean>;
  /** Wraps a program to run as that user in the terminal. */
  inTerminal(program: PtyProgram): PtyProgram;
  /** The same without a terminal, with descriptor 3, and without gaining privileges. */
  asWorker(program: Program): Program;
};

export type Program = Pick<PtyProgram, "file" | "args" | "env">;

/** Programs run as this process's own user. */
export function ownRunner(account: Account, env: BaseEnv): Runner {
  return {
    account,
    identity: OWN_IDENTITY,
    env,
    directoryProblem,
    hasProgram: async (file, place) => findProgram(file, place) !== undefined,
    inTerminal: (program) => program,
    asWorker: (program) => program,
  };
}

async function directoryProblem(path: string): Promise<string | undefined> {
  try {
    // What is behind it is asked for: that is there in a directory alone.
    await access(`${path}/.`, constants.X_OK);
    return undefined;
  } catch (error) {
    if (isErrno(error, "ENOTDIR")) return "not a directory";
    return isErrno(error, "EACCES") ? "no permission to enter the directory" : "no such directory";
  }
}
