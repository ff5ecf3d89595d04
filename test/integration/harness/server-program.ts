// `ttyhq serve` as a process, or as a call in the process of the test, where a server starts with a fraction of the CPU time.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { hostname, userInfo } from "node:os";
import { PassThrough, type Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import manifest from "../../../package.json" with { type: "json" };
import { cliOf } from "../../unit/cli/run-cli.ts";

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };
type Environment = Readonly<Record<string, string | undefined>>;

export type ServerProgram = {
  /** `undefined`: it runs in this process. */
  readonly pid: number | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** How it ended, once all of its output has arrived. */
  readonly closed: Promise<Exit>;
  signal(name: NodeJS.Signals): void;
};

export function spawnServer(main: string, args: readonly string[], env: Environment): ServerProgram {
  const child = spawn(process.execPath, [main, "serve", ...args], { stdio: ["ignore", "pipe", "pipe"], env });
  const closed = once(child, "close").then(([code, signal]): Exit => ({ code, signal }));
  const { pid, stdout, stderr } = child;
  return { pid, stdout, stderr, closed, signal: (name) => child.kill(name) };
}

/** Its session host and workers are processes of the built program all the same. */
export async function callServer(
  main: string,
  args: readonly string[],
  env: Environment,
): Promise<ServerProgram> {
  const { runCli } = await import("../../../src/cli/program.ts");
  const { startServer } = await import("../../../src/app.ts");
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { username: user, homedir } = userInfo();
  const { HOME: home = homedir, SHELL: shell = "/bin/sh" } = env;
  const base = { env, stdout, stderr, version: manifest.version, hostname: hostname() };
  const context = {
    ...{ ...base, node: process.execPath, main, isRoot: process.getuid?.() === 0 },
    account: { user, home, shell },
    pageDir: fileURLToPath(new URL("../../../dist/web", import.meta.url)),
  };
  const running = runCli({
    ...cliOf(["serve", "--stop-with-input", ...args], { ...base, stdin, home, user, cwd: process.cwd() }),
    program: { node: context.node, main: context.main },
    startServer: (config) => startServer(config, context),
  });
  const closed = running.then(async (code): Promise<Exit> => {
    stdout.end();
    stderr.end();
    await Promise.all([finished(stdout), finished(stderr)]);
    return { code, signal: null };
  });
  const signal = (name: NodeJS.Signals): void => {
    if (name === "SIGCONT") return;
    if (name !== "SIGTERM")
      throw new Error(`no ${name} for a server in the test's process: start it with asProcess`);
    stdin.end();
  };
  return { pid: undefined, stdout, stderr, closed, signal };
}
