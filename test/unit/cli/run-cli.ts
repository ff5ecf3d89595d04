// Runs the command line in this process, without a server or session host.
import { PassThrough } from "node:stream";
import type { Cli } from "../../../src/cli/process-context.ts";
import { runCli } from "../../../src/cli/program.ts";

export type Ran = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

export function cliOf(argv: readonly string[], parts: Partial<Cli> = {}): Cli {
  const unwanted = (): never => {
    throw new Error("nothing was to be started");
  };
  return {
    argv,
    env: {},
    cwd: "/work",
    home: "/home/me",
    user: "me",
    hostname: "box",
    version: "1.2.3",
    program: { node: "/no/node", main: "/no/main.js" },
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    startServer: unwanted,
    startSessionHost: unwanted,
    ensureHost: unwanted,
    reportFaults: () => {},
    ...parts,
  };
}

export async function ran(argv: readonly string[], parts: Partial<Cli> = {}): Promise<Ran> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const exitCode = await runCli(cliOf(argv, { ...parts, stdout, stderr }));
  stdout.end();
  stderr.end();
  return { exitCode, stdout: await textOf(stdout), stderr: await textOf(stderr) };
}

async function textOf(stream: PassThrough): Promise<string> {
  return Buffer.concat(await Array.fromAsync(stream)).toString("utf8");
}
