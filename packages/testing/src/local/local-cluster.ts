import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { endpoints } from "../../../../src/protocol/endpoints/endpoints.ts";
import { serverCommand, testSeed } from "../environment.ts";
import { LogTail } from "../failures/log-tail.ts";
import { TerminalLog } from "../failures/terminal-log.ts";
import type { Machine, TestCluster } from "../machine.ts";
import { ServerClient } from "../server-client.ts";
import type { Login } from "../server-environment.ts";
import { eventually, type WaitOptions, waitFor } from "../wait.ts";
import { LocalMachine } from "./local-machine.ts";

export type LocalClusterOptions = {
  /** Their number, with the names remote-1, remote-2, …; default: two. */
  readonly remotes?: number;
  /** Default: TTYHQ_COMMAND, or ttyhq on the PATH. */
  readonly command?: string;
};

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 60_000;

/** The output of `ttyhq up --json`. */
const Up = z.object({
  ...{ url: z.string(), username: z.string(), password: z.string(), controlDir: z.string() },
  remotes: z.array(z.object({ name: z.string(), url: z.string(), controlDir: z.string() })),
});

/** An HQ and its remotes as processes of this machine, run by `ttyhq up`; they end with the test's process. */
export class LocalCluster implements TestCluster {
  readonly hq: Machine;
  readonly remotes: readonly Machine[];
  readonly seed = testSeed();
  readonly terminals = new TerminalLog();
  readonly #login: Login;
  readonly #owned: AsyncDisposableStack;

  private constructor(hq: Machine, remotes: readonly Machine[], login: Login, owned: AsyncDisposableStack) {
    this.hq = hq;
    this.remotes = remotes;
    this.#login = login;
    this.#owned = owned;
  }

  /** Resolves when all remotes are registered. Rejects with the command's output, after cleaning up. */
  static async start(options: LocalClusterOptions = {}): Promise<LocalCluster> {
    await using stack = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-test-"));
    stack.defer(() => rm(directory, { recursive: true, force: true }));
    const up = await started(options, directory, stack);
    const login = { username: up.username, password: up.password };
    const hq = stack.use(new LocalMachine({ ...up, name: "hq" }, login, { isHq: true }));
    const remotes = up.remotes.map((remote) => stack.use(new LocalMachine(remote, login, { isHq: false })));
    return new LocalCluster(hq, remotes, login, stack.move());
  }

  remote(name: string): Machine {
    const remote = this.remotes.find((each) => each.name === name);
    if (remote === undefined) throw new Error(`no remote is called ${name}`);
    return remote;
  }

  async client(): Promise<ServerClient> {
    const access = { url: this.hq.url, credentials: this.#login };
    return new ServerClient(access, { scene: () => this.scene, log: this.terminals });
  }

  async registered(options: WaitOptions = {}): Promise<void> {
    using client = await this.client();
    const check = async (): Promise<true | undefined> => {
      const known = new Set((await client.api.call(endpoints.listRemotes)).map(({ name }) => name));
      return this.remotes.every(({ name }) => known.has(name)) || undefined;
    };
    await eventually(check, "the registration of all remotes", options, () => this.scene);
  }

  get scene(): string {
    return [this.hq, ...this.remotes]
      .map(({ scene }) => scene)
      .filter((scene) => scene !== "")
      .join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

async function started(
  { remotes = 2, command = serverCommand() }: LocalClusterOptions,
  directory: string,
  stack: AsyncDisposableStack,
): Promise<z.infer<typeof Up>> {
  const args = ["up", "--remotes", `${remotes}`, "--port", "0", "--control-dir", directory, "--json"];
  const child = spawn(command, [...args, "--stop-with-input"], { stdio: ["pipe", "pipe", "pipe"] });
  const ended = new Promise<string>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("close", (code, name) => resolve(`ended with ${name ?? `exit code ${code}`}`));
  });
  stack.defer(() => stop(child, ended));
  const errors = new LogTail();
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors.append(text));
  const failed = ended.then((how) => {
    throw new Error(`${command} up: ${how}\n${errors.text}`.trimEnd());
  });
  const line = Promise.race([once(createInterface({ input: child.stdout }), "line"), failed]);
  const limits = { timeoutMs: START_TIMEOUT_MS };
  const [text] = await waitFor(line, "the start of all servers", limits, () => errors.text);
  return Up.parse(JSON.parse(text));
}

async function stop(child: ChildProcess, ended: Promise<string>): Promise<void> {
  child.kill("SIGTERM");
  await waitFor(ended, "the end of all servers", { timeoutMs: STOP_TIMEOUT_MS });
}
