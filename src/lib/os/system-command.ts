import { execFile } from "node:child_process";
import { withDeadline } from "../async/deadline.ts";

/** Where the system's own programs are. Nobody's PATH decides which of them a server runs as root. */
const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin";
/** More than that is no answer, unless more is asked for. */
const MAX_OUTPUT_BYTES = 256 * 1024;

export type Finished = {
  /** The exit code; 127 where there is no such program, as a shell says it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
};

/**
 * Runs a program of the system to its end, with the environment `env` and a PATH of the system's own. Throws a
 * `TimeoutError` after `timeoutMs`, when the program is killed, and an Error where a signal ended it, it said too much
 * or it could not be run.
 */
export async function runSystemCommand(
  file: string,
  args: readonly string[],
  { timeoutMs, env = {}, maxOutputBytes = MAX_OUTPUT_BYTES }: CommandLimits,
): Promise<Finished> {
  return await withDeadline(
    (signal) => execute(file, args, { env, signal, maxBuffer: maxOutputBytes }),
    timeoutMs,
    file,
  );
}

type CommandLimits = {
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Of each of its two streams. */
  readonly maxOutputBytes?: number;
};

function execute(
  file: string,
  args: readonly string[],
  {
    env,
    ...limits
  }: {
    readonly env: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
    readonly maxBuffer: number;
  },
): Promise<Finished> {
  const { promise, resolve, reject } = Promise.withResolvers<Finished>();
  const options = {
    ...limits,
    killSignal: "SIGKILL",
    cwd: "/",
    env: { PATH: SYSTEM_PATH, ...env },
  } as const;
  const child = execFile(file, args, options, (error, stdout, stderr) => {
    if (error === null) resolve({ code: 0, stdout, stderr });
    else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
    else if (error.code === "ENOENT") resolve({ code: 127, stdout, stderr: `there is no program ${file}` });
    else reject(error);
  });
  child.stdin?.end();
  return promise;
}
