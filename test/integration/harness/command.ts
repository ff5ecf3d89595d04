// The built command line, as a process of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { MAIN } from "./test-server.ts";

/** A command that takes longer than this hangs. */
const COMMAND_TIMEOUT_MS = 60_000;

export type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Runs `ttyhq ARGS` to its end. `env` extends this process's environment; `undefined` removes a variable. */
export async function ttyhq(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    timeout: COMMAND_TIMEOUT_MS,
  });
  const [[code], stdout, stderr] = await Promise.all([
    once(child, "close"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, stdout, stderr };
}
