// Sessions of other users than the session host's own, which then has to be root (contract 5.7).
import { readFileSync } from "node:fs";
import { isTimeout } from "../../lib/async/deadline.ts";
import { nativeFile } from "../../lib/os/installation.ts";
import {
  findGroupIds,
  findSystemAccount,
  loginRefusal,
  type SystemAccount,
} from "../../lib/os/system-account.ts";
import { type CommandOptions, type Finished, runSystemCommand } from "../../lib/os/system-command.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { SYSTEM_LOOKUP_TIMEOUT_MS } from "../../protocol/limits.ts";
import { accountEnv } from "./env.ts";
import type { BaseEnv } from "./launch-env.ts";
import { atMost, formatLimits, type Limits, parseGroups, parseLimits } from "./process-rights.ts";
import type { Program, Runner } from "./runner.ts";
import type { UserCgroups } from "./user-cgroups.ts";

/** Becomes the user, see native/run-as.c. */
const RUN_AS = nativeFile("ttyhq-run-as");
/** Its exit codes. */
const DIRECTORY_PROBLEMS: ReadonlyMap<number, string> = new Map([
  [10, "no such directory"],
  [11, "not a directory"],
  [12, "no permission to enter the directory"],
]);
const NO_PROGRAM = 13;
const NOT_THERE = 127;
/** The soft limit of a login on Linux: Node raises its own. */
const SOFT_OPEN_FILES = 1024;
/** Maximum of processes and threads of one user, against fork bombs. */
const MAX_PROCESSES = 4096;

/**
 * Runs programs as the system user `name`, with that user's groups, limits and environment. Throws `forbidden` for an
 * unknown user, for one who may not log in, and without root; `launch_failed` if the system gives no identity.
 */
export async function userRunner(
  name: string,
  hostEnv: BaseEnv,
  cgroups: UserCgroups | undefined,
): Promise<Runner> {
  const account = await accountOf(name);
  const [, { env, umask }, { groups, limits }] = await Promise.all([
    refuseClosed(account),
    accountEnv(account, hostEnv),
    standingOf(account),
  ]);
  const bounded = { ...limits, nproc: atMost(MAX_PROCESSES, limits.nproc) };
  const group = cgroups === undefined ? {} : { TTYHQ_CGROUP_PROCS: cgroups.procsOf(account.uid) };
  const identity = [`${account.uid}`, `${account.gid}`, groups.join(","), umask, formatLimits(bounded)];
  const asUser = (how: "start" | "worker", cwd: string, { file, args, env: own }: Program): Program => ({
    // The part that still runs as root gets no variables of the program, see native/run-as.c.
    ...{ file: RUN_AS, env: { ...marked(own), ...group } },
    args: [how, ...identity, cwd, file, ...args],
  });
  return {
    account: { user: account.name, home: account.home, shell: account.shell },
    identity: JSON.stringify([account, groups, limits]),
    env,
    directoryProblem: async (path) => {
      const { code, stderr } = await ask(name, ["directory", ...identity, path]);
      const problem = DIRECTORY_PROBLEMS.get(code);
      if (code !== 0 && problem === undefined) throw launchFailed(name, stderr);
      return problem;
    },
    hasProgram: async (file, { cwd, path }) => {
      const { code, stderr } = await ask(name, ["program", ...identity, cwd, file], { PATH: path });
      if (code !== 0 && code !== NO_PROGRAM) throw launchFailed(name, stderr);
      return code === 0;
    },
    inTerminal: (program) => ({ ...program, ...asUser("start", program.cwd, program), cwd: "/" }),
    asWorker: (program) => asUser("worker", "/", program),
  };
}

async function accountOf(name: string): Promise<SystemAccount> {
  if (process.getuid?.() !== 0) {
    const message = `this session host is not root, so that no program can run as ${JSON.stringify(name)}`;
    throw new ServiceError("forbidden", message);
  }
  const account = await findSystemAccount(name);
  if (account === undefined) {
    throw new ServiceError("forbidden", `there is no user ${JSON.stringify(name)} on this system`);
  }
  return account;
}

async function refuseClosed(account: SystemAccount): Promise<void> {
  const refusal = await loginRefusal(account);
  if (refusal !== undefined)
    throw new ServiceError("forbidden", `nothing runs as ${account.name}: ${refusal}`);
}

type UserStanding = { readonly groups: readonly number[]; readonly limits: Limits };

/**
 * The current groups and limits from PAM, by runuser(1). macOS has no limits of users: those of this process hold.
 *
 * NOTE: the kernel tells them of runuser, which stays root. The user's other processes can trace the one that runuser starts, and
 * write in its place.
 */
async function standingOf({ name, uid }: SystemAccount): Promise<UserStanding> {
  if (process.platform === "darwin") return { groups: await findGroupIds(name), limits: {} };
  const own = limitsOf("self").nofile?.hard;
  const softFiles =
    own === undefined || own === "unlimited" ? SOFT_OPEN_FILES : Math.min(SOFT_OPEN_FILES, Number(own));
  // It waits for the end of its input, and so does runuser.
  const asUser = ["runuser", "-u", name, "--", "sh", "-c", "id -u; exec cat"];
  let groups: UserStanding["groups"] | undefined;
  let limits: Limits = {};
  // Modules of PAM may have written lines before.
  const inspect = (pid: number, stdout: string): boolean => {
    if (!/^\d+\n/m.test(stdout)) return false;
    groups = parseGroups(readFileSync(`/proc/${pid}/status`, "utf8"));
    limits = limitsOf(pid);
    return true;
  };
  const args = [`--nofile=${softFiles}:`, "--", ...asUser];
  const { code, stdout, stderr } = await bounded(name, "prlimit", args, { inspect });
  const isUser = code === 0 && stdout.split("\n").includes(`${uid}`);
  if (!isUser || groups === undefined || limits.nofile === undefined) throw launchFailed(name, stderr);
  return { groups, limits };
}

function limitsOf(pid: number | "self"): Limits {
  return parseLimits(readFileSync(`/proc/${pid}/limits`, "utf8"));
}

function marked(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [`+${name}`, value]));
}

async function ask(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const finished = await bounded(name, RUN_AS, args, { env: marked(env) });
  if (finished.code === NOT_THERE) throw launchFailed(name, "ttyhq-run-as is not built: run `npm rebuild`");
  return finished;
}

async function bounded(
  name: string,
  file: string,
  args: readonly string[],
  options: Pick<CommandOptions, "env" | "inspect">,
): Promise<Finished> {
  try {
    return await runSystemCommand(file, args, { timeoutMs: SYSTEM_LOOKUP_TIMEOUT_MS, ...options });
  } catch (cause) {
    throw isTimeout(cause)
      ? launchFailed(name, "the system takes too long to say what is theirs", cause)
      : cause;
  }
}

function launchFailed(name: string, said: string, cause?: unknown): ServiceError {
  const reason = said.trim().split("\n").at(-1) || "the system does not say why";
  return new ServiceError("launch_failed", `nothing could be run as ${name}: ${reason}`, { cause });
}
