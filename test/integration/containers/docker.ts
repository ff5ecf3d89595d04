// The `docker` command, as a person uses it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

/** A first build also builds the base image. */
export const BUILD_TIMEOUT_MS = 900_000;
const COMMAND_TIMEOUT_MS = 180_000;

export type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export type RunOptions = {
  /** In addition to this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
};

/** Runs a program to its end, successful or not. */
export async function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = spawn(file, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...options.env },
    timeout: options.timeoutMs ?? COMMAND_TIMEOUT_MS,
  });
  const [[code], stdout, stderr] = await Promise.all([
    once(child, "close"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, stdout: stdout.trim(), stderr: stderr.trim() };
}

/** The standard output of a program; throws with all its output if it fails. */
export async function output(
  file: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(file, args, options);
  if (code !== 0) throw new Error(`${file} ${args.join(" ")}: code ${code}: ${stderr}\n${stdout}`);
  return stdout;
}

export function docker(...args: string[]): Promise<string> {
  return output("docker", args);
}
