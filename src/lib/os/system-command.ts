import { execFile } from "node:child_process";
import { withDeadline } from "../async/deadline.ts";

/** The system's programs: no user's PATH decides which of them a server runs as root. */
const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin";
const MAX_OUTPUT_BYTES = 256 * 1024;

export type Finished = {
  /** 127 if the program does not exist, as in a shell. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
};

export type CommandOptions = {
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Of each output stream. */
  readonly maxOutputBytes?: number;
  /**
   * Called with its pid and its output so far, until it returns true: then its standard input ends. If it throws, the program is
   * killed. Without it the input is empty.
   */
  readonly inspect?: (pid: number, stdout: string) => boolean;
};

/**
 * Throws `TimeoutError` after `timeoutMs`, when it kills the program, and Error if a signal ended it, its output is too long, or it
 * cannot be run.
 */
export async function runSystemCommand(
  file: string,
  args: readonly string[],
  { timeoutMs, env = {}, maxOutputBytes: maxBuffer = MAX_OUTPUT_BYTES, inspect }: CommandOptions,
): Promise<Finished> {
  const run = (signal: AbortSignal): Promise<Finished> => {
    const { promise, resolve, reject } = Promise.withResolvers<Finished>();
    const place = { cwd: "/", env: { PATH: SYSTEM_PATH, ...env } };
    const options = { ...place, maxBuffer, killSignal: "SIGKILL" } as const;
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
      else if (error.code === "ENOENT") resolve({ code: 127, stdout, stderr: `there is no program ${file}` });
      else reject(error);
    });
    const { pid } = child;
    // Not by execFile's own signal option: that sends SIGTERM, and waits for ever if a user stopped the program.
    const kill = (): void => {
      child.kill("SIGKILL");
      for (const stream of child.stdio) stream?.destroy();
    };
    signal.addEventListener("abort", kill);
    if (inspect === undefined || pid === undefined) child.stdin?.end();
    else {
      let output = "";
      child.stdout?.on("data", (piece: string) => {
        output += piece;
        try {
          if (inspect(pid, output)) child.stdin?.end();
        } catch (error) {
          reject(error);
          kill();
        }
      });
    }
    return promise;
  };
  return await withDeadline(run, timeoutMs, file);
}
