// `ttyhq up` in a script's mode.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { type Client, createClient } from "../../../src/protocol/client/client.ts";
import { createSender } from "../../../src/remote/send.ts";
import { killIfThere } from "./processes.ts";
import type { Exit } from "./server-program.ts";
import { MAIN } from "./test-server.ts";

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 60_000;

const Up = z.strictObject({
  event: z.literal("up"),
  ...{ url: z.string(), loginLink: z.string(), username: z.string(), password: z.string() },
  controlDir: z.string(),
  remotes: z.array(z.strictObject({ name: z.string(), url: z.string(), controlDir: z.string() })),
});
export type Up = z.infer<typeof Up>;

/** Disposal ends all processes of its directory, by force if needed, and removes the directory. */
export class UpCommand implements AsyncDisposable {
  readonly directory: string;
  readonly exit: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = "";

  private constructor(directory: string, args: readonly string[]) {
    this.directory = directory;
    const places = ["--control-dir", join(directory, "c"), "--port", "0", "--json"];
    this.#child = spawn(process.execPath, [MAIN, "up", ...places, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      // A separate home: start files of this machine's login shells are not under test.
      env: { ...process.env, HOME: directory, SERVICE_PASSWORD: "of another server" },
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error("no pipes");
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    this.exit = once(this.#child, "close").then(([code, signal]) => ({ code, signal }));
  }

  static async begin(args: readonly string[], directory?: string): Promise<UpCommand> {
    return new UpCommand(directory ?? (await mkdtemp(join(tmpdir(), "ttyhq-up-"))), args);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Its standard error so far. */
  get errors(): string {
    return this.#errors;
  }

  /** Its announcement that everything runs. Throws other output. */
  async up(): Promise<Up> {
    const { value, done } = await withDeadline(this.#lines.next(), START_TIMEOUT_MS, "the start");
    if (done === true) throw new Error(`nothing came up: ${this.#errors}`);
    return Up.parse(JSON.parse(value));
  }

  /** Resolves when it has written that to standard error. */
  async says(pattern: RegExp): Promise<void> {
    const { stderr } = this.#child;
    if (stderr === null) throw new Error("no pipe");
    const said = async (signal: AbortSignal): Promise<void> => {
      while (!pattern.test(this.#errors)) await once(stderr, "data", { signal });
    };
    await withDeadline(said, START_TIMEOUT_MS, `${pattern} in ${this.#errors}`);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async stop(name: NodeJS.Signals = "SIGTERM"): Promise<Exit> {
    this.signal(name);
    return await withDeadline(this.exit, STOP_TIMEOUT_MS, "the end of ttyhq up");
  }

  /** The command lines of all other processes of its directory. */
  processes(): readonly string[] {
    return this.#found().map(({ line }) => line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (this.#child.exitCode === null && this.#child.signalCode === null) {
        await this.stop(signal).catch(() => undefined);
      }
    }
    await eventually(async () => {
      for (const { pid } of this.#found()) killIfThere(pid, "SIGKILL");
      return this.#found().length === 0 ? true : undefined;
    }, "the end of everything");
    await rm(this.directory, { recursive: true, force: true });
  }

  #found(): readonly { readonly pid: number; readonly line: string }[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && Number(name) !== this.pid)
      .map((name) => ({ pid: Number(name), line: commandLine(name) }))
      .filter(({ line }) => line.includes(this.directory));
  }
}

/** Sends a request to a machine of the cluster, by the socket in its control directory. */
export function clientOf({ controlDir }: { readonly controlDir: string }): Client {
  return createClient(createSender({ socketPath: join(controlDir, "server.sock") }).send);
}

/** Empty for an ended process. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
