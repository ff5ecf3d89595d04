// From a request to what a pty is given: which program, where, with which environment (contract 2.1).
import { access, constants, stat } from "node:fs/promises";
import { basename, delimiter, resolve } from "node:path";
import { ServiceError } from "../protocol/errors.ts";
import type { CreateSession } from "../protocol/session.ts";
import { type Account, type BaseEnv, launchEnv } from "./launch-env.ts";
import type { PtyProgram } from "./pty.ts";

export type { Account };

/** Of a command line in a default name, in characters. */
const MAX_NAME_LENGTH = 60;

export type LaunchContext = {
  /** Of the new session. */
  readonly id: string;
  readonly account: Account;
  /** The server's own environment. */
  readonly env: BaseEnv;
};

/** A program ready to start; `command` is it and its arguments, as the session's record shows them. */
export type LaunchPlan = PtyProgram & { readonly name: string; readonly command: readonly string[] };

/** Throws ServiceError `invalid_request`, `invalid_cwd`, `command_not_found`. */
export async function planLaunch(request: CreateSession, context: LaunchContext): Promise<LaunchPlan> {
  const { home } = context.account;
  const env = launchEnv(context.env, request.env ?? {}, context);
  const [file, ...args] = commandWords(request, env.SHELL ?? context.account.shell);
  const cwd = await usableDirectory(askedDirectory(request, home), home);
  await findProgram(file, env.PATH ?? "", cwd);
  const name =
    request.name === undefined || request.name === "" ? defaultName(request, file, cwd, home) : request.name;
  const size = { cols: request.cols, rows: request.rows };
  return { name, command: [file, ...args], file, args, cwd, size, env: { ...env, PWD: cwd } };
}

/** What is run: the words of an array, a program with its arguments, a line for the shell, or a login shell. */
function commandWords({ command, args }: CreateSession, shell: string): readonly [string, ...string[]] {
  if (Array.isArray(command) || command === undefined) {
    if (args !== undefined && args.length > 0) {
      throw new ServiceError("invalid_request", "args go with a command that is a string");
    }
    const [file, ...rest] = command ?? [shell, "-l"];
    if (file === undefined) throw new ServiceError("invalid_request", "the command is empty");
    return [file, ...rest];
  }
  if (args !== undefined) return [command, ...args];
  return /\s/.test(command) ? [shell, "-lc", command] : [command];
}

/** The absolute path that was asked for; undefined where none was. */
function askedDirectory({ cwd, workingDir }: CreateSession, home: string): string | undefined {
  const [first, second] = [cwd, workingDir]
    .filter((path) => path !== undefined && path !== "")
    .map((path) => resolve(home, expandHome(path ?? "", home)));
  if (first !== undefined && second !== undefined && first !== second) {
    throw new ServiceError("invalid_request", "cwd and workingDir are the same field and differ here");
  }
  return first;
}

function expandHome(path: string, home: string): string {
  return path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;
}

/** Without a wish the home directory, or / where there is none, as a login does. */
async function usableDirectory(asked: string | undefined, home: string): Promise<string> {
  const problem = await directoryProblem(asked ?? home);
  if (problem === undefined) return asked ?? home;
  if (asked === undefined) return "/";
  throw new ServiceError("invalid_cwd", `${problem}: ${asked}`, { details: { cwd: asked } });
}

async function directoryProblem(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isDirectory()) return "not a directory";
  } catch {
    return "no such directory";
  }
  return (await isAllowed(path)) ? undefined : "no permission to enter the directory";
}

/**
 * Looks where execvp(3) will look, with the session's PATH: a program that is not there is an error of the request, not
 * a session that ends with 127.
 */
async function findProgram(file: string, path: string, cwd: string): Promise<void> {
  const folders = path.split(delimiter).map((folder) => resolve(cwd, folder));
  const candidates = file.includes("/")
    ? [resolve(cwd, file)]
    : folders.map((folder) => resolve(folder, file));
  for (const candidate of candidates) if (await isProgram(candidate)) return;
  const lookedAt = file.includes("/") ? candidates : folders;
  throw new ServiceError("command_not_found", `no program ${file}; looked at ${lookedAt.join(", ")}`, {
    details: { command: file, lookedAt },
  });
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

/** For example "bash (~/dev/x)" (facts 3.6); a line for the shell is named by itself. */
function defaultName({ command, args }: CreateSession, file: string, cwd: string, home: string): string {
  const isLine = typeof command === "string" && args === undefined && /\s/.test(command);
  const what = isLine ? shortened(command) : basename(file);
  const isBelowHome = cwd === home || cwd.startsWith(`${home}/`);
  return `${what} (${isBelowHome ? `~${cwd.slice(home.length)}` : cwd})`;
}

function shortened(line: string): string {
  const text = line.trim().replace(/\s+/g, " ");
  return [...text].slice(0, MAX_NAME_LENGTH).join("");
}
