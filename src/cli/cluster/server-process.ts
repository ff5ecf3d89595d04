// A server as a child process: started as the session host is, and stopped with whoever started it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { openControlDir } from "../../sessions/storage/control-dir.ts";
import type { ProgramFiles } from "../process-context.ts";
import type { MachinePlan } from "./plan.ts";

export type ProcessParts = {
  readonly program: ProgramFiles;
  /** Aborts a graceful stop. */
  readonly hurry: AbortSignal;
};

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;
/** Log lines in error messages. */
const SHOWN_LOG_LINES = 12;

/** Output of `ttyhq serve --json`. */
const Listening = z.object({ url: z.string(), loginLink: z.string().optional() });
export type Listening = z.infer<typeof Listening>;

/**
 * Starts at once, in a process group of its own: Ctrl-C reaches only this process, which stops it. If this process is
 * killed, it stops at the end of its standard input. Appends its log to `server.log` in its control directory.
 */
export class ServerProcess implements AsyncDisposable {
  /** How it ended, as `exit code 1` or `SIGKILL`. */
  readonly ended: Promise<string>;
  readonly #plan: MachinePlan;
  readonly #hurry: AbortSignal;
  readonly #child: ChildProcess;

  /** Throws `start_failed` when the control directory cannot be used. */
  constructor(plan: MachinePlan, { program, hurry }: ProcessParts) {
    this.#plan = plan;
    this.#hurry = hurry;
    const { controlDir, port, args, env } = plan;
    const log = openSync(serverLog(openControlDir(controlDir).path), "a", 0o600);
    try {
      this.#child = spawn(program.node, [program.main, "serve", "--port", `${port}`, ...args], {
        ...{ detached: true, cwd: "/", env, stdio: ["pipe", "pipe", log] },
      });
    } finally {
      closeSync(log);
    }
    // `ended` reports the end; nothing is written to standard input.
    this.#child.stdin?.on("error", () => undefined);
    this.ended = endOf(this.#child);
  }

  /** Rejects with `start_failed` and the end of its log. */
  async listening(signal: AbortSignal): Promise<Listening> {
    const failed = this.ended.then((how) => {
      throw this.failure(`did not start (${how})`);
    });
    try {
      const line = Promise.race([firstLine(this.#child), failed]);
      return Listening.parse(JSON.parse(await withDeadline(line, START_TIMEOUT_MS, "the start", signal)));
    } catch (error) {
      throw isTimeout(error) ? this.failure(`did not start within ${START_TIMEOUT_MS / 1000} s`) : error;
    }
  }

  /** `start_failed`, with the end of its log. */
  failure(what: string): ServiceError {
    const path = serverLog(this.#plan.controlDir);
    const lines = logTail(path, SHOWN_LOG_LINES).map((line) => `  ${line}`);
    return new ServiceError("start_failed", [`${this.#plan.name} ${what}: see ${path}`, ...lines].join("\n"));
  }

  /** Gracefully, or by force after a timeout. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    try {
      await withDeadline(this.ended, STOP_TIMEOUT_MS, "the end of the server", this.#hurry);
    } catch {
      this.#child.kill("SIGKILL");
      await this.ended;
    }
  }
}

export function serverLog(controlDir: string): string {
  return join(controlDir, "server.log");
}

function endOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once("error", ({ message }) => resolve(message));
  child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  return promise;
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("standard output is no pipe");
  // Reads and drops later lines: a full pipe would block the server.
  const [line]: unknown[] = await once(createInterface({ input: stdout }), "line");
  return String(line);
}

export function logTail(path: string, lines: number): readonly string[] {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, "utf8").trimEnd();
  return text
    .split("\n")
    .slice(-lines)
    .filter((line) => line !== "");
}
