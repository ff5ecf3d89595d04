// One control directory and the command line that uses it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostHealth } from "../../../src/remote/host-process.ts";
import { killIfThere } from "./processes.ts";
import { gone, MAIN } from "./test-server.ts";

/** A command that takes longer than this hangs. */
const COMMAND_TIMEOUT_MS = 60_000;

export type Ran = { readonly exitCode: number | null; readonly stdout: string; readonly stderr: string };

/** Disposal ends the session host with its sessions, and removes the directory. */
export class Installation implements AsyncDisposable {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  static async make(): Promise<Installation> {
    return new Installation(await mkdtemp(join(tmpdir(), "ttyhq-")));
  }

  /** Variables with which a shell finds `$TTYHQ`, and `$TTYHQ` its control directory. */
  get env(): Readonly<Record<string, string>> {
    return { TTYHQ: `${process.execPath} ${MAIN}`, TTYHQ_CONTROL_DIR: this.directory };
  }

  /** Runs `ttyhq ARGS` without a terminal; `input` is its standard input. */
  async ttyhq(args: readonly string[], input = ""): Promise<Ran> {
    const child = this.#spawn(args);
    child.stdin?.end(input);
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
    const [exitCode] = await once(child, "close");
    return { exitCode, stdout: await stdout, stderr: await stderr };
  }

  /** The bytes that `ttyhq ARGS` writes. */
  async binary(args: readonly string[]): Promise<Uint8Array> {
    const child = this.#spawn(args);
    child.stdin?.end();
    return await bytesOf(child.stdout);
  }

  /** The process id of the session host; undefined if none answers. */
  async hostPid(): Promise<number | undefined> {
    return (await hostHealth(join(this.directory, "host.sock")))?.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.hostPid();
    if (pid !== undefined) {
      killIfThere(pid, "SIGTERM");
      await gone(pid);
    }
    await rm(this.directory, { recursive: true, force: true });
  }

  #spawn(args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, HOME: this.directory, ...this.env },
      timeout: COMMAND_TIMEOUT_MS,
    });
  }
}

async function textOf(stream: NodeJS.ReadableStream | null): Promise<string> {
  return Buffer.from(await bytesOf(stream)).toString("utf8");
}

async function bytesOf(stream: NodeJS.ReadableStream | null): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream ?? []) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
