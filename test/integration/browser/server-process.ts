// The real server as a separate process with its own control directory: started, killed, restarted.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { hostHealth } from "../../../src/remote/host-process.ts";
import { ask } from "../harness/http.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { killIfThere } from "../harness/processes.ts";
import { MAIN } from "../harness/test-server.ts";

/** The kept part of a server's log, shown if it does not start. */
const COMPLAINT_CHARACTERS = 2_000;

const Listening = z.object({
  event: z.literal("listening"),
  url: z.string(),
  loginLink: z.string().optional(),
});
const Created = z.object({ id: z.string() });

export type ServerProcessOptions = {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** Disposal ends the server, its session host and its sessions. */
export class ServerProcess implements AsyncDisposable {
  readonly #options: ServerProcessOptions;
  readonly #controlDir: string;
  readonly #port: number;
  #child: ChildProcess | undefined;
  #listening: z.infer<typeof Listening> | undefined;

  private constructor(options: ServerProcessOptions, controlDir: string, port: number) {
    this.#options = options;
    this.#controlDir = controlDir;
    this.#port = port;
  }

  /** Without flags everybody is admitted, and nothing is counted. */
  static async start(options: ServerProcessOptions = {}): Promise<ServerProcess> {
    const controlDir = await mkdtemp(join(tmpdir(), "ttyhq-page-"));
    const server = new ServerProcess(options, controlDir, await freePort());
    await server.start();
    return server;
  }

  get url(): string {
    return this.#known.url;
  }

  get controlDir(): string {
    return this.#controlDir;
  }

  get loginLink(): string {
    const { loginLink } = this.#known;
    if (loginLink === undefined) throw new Error("the server was started without --login-link");
    return loginLink;
  }

  /** HOME of the server, empty except for the server's own files. */
  get home(): string {
    return this.#controlDir;
  }

  /** On the same port and control directory. */
  async start(): Promise<void> {
    const { flags = ["--no-auth"], env = {} } = this.#options;
    const fixed = ["--bind", "127.0.0.1", "--port", String(this.#port), "--rate-limit-api", "0"];
    this.#child = this.#spawn(["serve", ...fixed, "--rate-limit-sessions", "0", "--json", ...flags], env);
    const line = await firstLine(this.#child);
    this.#listening = Listening.parse(JSON.parse(line));
  }

  /** Like a crash: without notice. */
  async kill(): Promise<void> {
    await end(this.#child, "SIGKILL");
    this.#child = undefined;
  }

  /** Until disposed: connections stay and nothing answers, like a dead network. */
  freeze(): Disposable {
    const child = this.#child;
    child?.kill("SIGSTOP");
    return { [Symbol.dispose]: () => void child?.kill("SIGCONT") };
  }

  /** In order: clients are notified. */
  async stop(): Promise<void> {
    await end(this.#child, "SIGTERM");
    this.#child = undefined;
  }

  /** Starts a program by the API of a server without a login; returns the id of its session. */
  async create(command: readonly string[], name: string): Promise<string> {
    const { json } = await ask(this.url, "/api/sessions", { body: { command, name, cwd: "/tmp" } });
    return Created.parse(json).id;
  }

  /** Like a crash of it: its sessions are lost, and the server starts another one. */
  async killSessionHost(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const host = await hostHealth(join(this.#controlDir, "host.sock"));
    if (host !== undefined) killIfThere(host.pid, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#child, "SIGTERM");
    await this.killSessionHost("SIGTERM");
    await rm(this.#controlDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  get #known(): z.infer<typeof Listening> {
    if (this.#listening === undefined) throw new Error("the server was not started");
    return this.#listening;
  }

  #spawn(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
    const allArgs = [MAIN, ...args, "--control-dir", this.#controlDir];
    // A home without profiles: a login shell's start files and history are not under test.
    const basic = {
      PATH: process.env.PATH ?? "",
      HOME: this.#controlDir,
      SHELL: "/bin/bash",
      LANG: "C.UTF-8",
    };
    return spawn(process.execPath, allArgs, {
      env: { ...basic, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the server has no standard output");
  const lines = createInterface({ input: child.stdout });
  const signal = AbortSignal.timeout(PATIENCE_MS);
  let complaint = "";
  child.stderr?.on("data", (chunk) => {
    complaint = `${complaint}${chunk}`.slice(-COMPLAINT_CHARACTERS);
  });
  const ended = once(child, "close", { signal }).then(([code]) => {
    throw new Error(`the server ended with ${code} before it listened: ${complaint}`);
  });
  const [line] = await Promise.race([once(lines, "line", { signal }), ended]);
  return String(line);
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}
