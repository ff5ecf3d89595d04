// From a request to what a pty is given: which program, where, with which environment (contract 2.1).
import { basename, resolve } from "node:path";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_RECORDED_COMMAND_LENGTH } from "../../protocol/limits.ts";
import { type CreateSession, isVibeTunnelSpelling } from "../../protocol/schemas/session.ts";
import { placesOf } from "../pty/program-path.ts";
import type { PtyProgram } from "../pty/pty.ts";
import type { StoredSession } from "../storage/stored-session.ts";
import { type Account, type BaseEnv, launchEnv } from "./launch-env.ts";
import { userRunner } from "./run-as.ts";
import { ownRunner, type Runner } from "./runner.ts";
import type { UserCgroups } from "./user-cgroups.ts";

const MAX_NAME_LENGTH = 60;

export type LaunchContext = {
  readonly id: string;
  readonly account: Account;
  readonly env: BaseEnv;
  readonly cgroups?: UserCgroups | undefined;
};

export type LaunchPlan = {
  /** The program in the terminal: the requested one, or the one that switches to its user. */
  readonly program: PtyProgram;
  /** The session's part of its stored record. */
  readonly session: Omit<StoredSession, "id" | "created" | "pid">;
};

/** Throws `invalid_request`, `invalid_cwd`, `command_not_found`; for another user also `forbidden`, `launch_failed`. */
export async function planLaunch(request: CreateSession, context: LaunchContext): Promise<LaunchPlan> {
  const runner = await runnerOf(request, context);
  const { home, shell } = runner.account;
  const env = launchEnv(runner.env, request.env ?? {}, { id: context.id, account: runner.account });
  const [file, ...args] = commandWords(request, env.SHELL ?? shell);
  const asked = askedDirectory(request, home);
  const searching = findProgram(runner, file, env.PATH ?? "", asked ?? home);
  searching.catch(() => undefined);
  const { cwd, cwdFallback } = await usableDirectory(runner, asked, request);
  await (cwd === (asked ?? home) ? searching : findProgram(runner, file, env.PATH ?? "", cwd));
  const { cols, rows, name = "" } = request;
  const size = { cols, rows, initialCols: cols, initialRows: rows };
  return {
    program: runner.inTerminal({ file, args, cwd, size: { cols, rows }, env: { ...env, PWD: cwd } }),
    session: {
      name: name === "" ? defaultName(request, file, cwd, home) : name,
      command: recordedCommand([file, ...args]),
      ...{ cwd, cwdFallback, shell: env.SHELL ?? shell, ...size },
    },
  };
}

async function runnerOf({ account }: CreateSession, own: LaunchContext): Promise<Runner> {
  const isOwn = account === undefined || account === own.account.user;
  return isOwn ? ownRunner(own.account, own.env) : await userRunner(account, own.env, own.cgroups);
}

/** An array of words, a program with arguments, a line for the shell, or a login shell. */
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

/** The absolute path of the requested directory; undefined without one. */
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

/**
 * By default the home directory, or / without one, as for a login. VibeTunnel's clients get it for an inaccessible
 * directory as well.
 */
async function usableDirectory(
  runner: Runner,
  asked: string | undefined,
  request: CreateSession,
): Promise<Pick<StoredSession, "cwd" | "cwdFallback">> {
  const { home } = runner.account;
  const problem = asked === undefined ? undefined : await runner.directoryProblem(asked);
  if (asked !== undefined && problem === undefined) return { cwd: asked };
  if (asked !== undefined && !isVibeTunnelSpelling(request))
    throw new ServiceError("invalid_cwd", `${problem}: ${asked}`, { details: { cwd: asked } });
  const isHomeUsable = (await runner.directoryProblem(home)) === undefined;
  return { cwd: isHomeUsable ? home : "/", cwdFallback: asked === undefined ? undefined : true };
}

/**
 * Searches like execvp(3) with the session's PATH: a missing program is an error of the request, and not an exit with
 * 127.
 */
async function findProgram(runner: Runner, file: string, path: string, cwd: string): Promise<void> {
  if (await runner.hasProgram(file, { cwd, path })) return;
  const candidates = placesOf(file, { cwd, path });
  throw new ServiceError("command_not_found", `no program ${file}; looked at ${candidates.join(", ")}`, {
    details: { command: file, lookedAt: candidates },
  });
}

/** The records of all sessions are listed together, so that one user's long commands would make the list too long for all. */
function recordedCommand(words: readonly string[]): string[] {
  const kept: string[] = [];
  let left = MAX_RECORDED_COMMAND_LENGTH;
  for (const word of words) {
    if (word.length >= left) return [...kept, `${word.slice(0, left).toWellFormed()}…`];
    kept.push(word);
    left -= word.length + 1;
  }
  return kept;
}

/** For example "bash (~/dev/x)" (facts 3.6), or the line for the shell. */
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
