import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { withDeadline } from "../../src/lib/async/deadline.ts";

const LINE_TIMEOUT_MS = 20_000;
/** Between SIGTERM and SIGKILL. */
const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 20;
/** Kept of each output; earlier output is dropped. */
const MAX_KEPT_CHARACTERS = 64 * 1024;

/** A child process of the benchmark. Ends with the object. */
export class Child implements AsyncDisposable {
  readonly pid: number;
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  #text = "";
  #wake = Promise.withResolvers<void>();

  /** Throws Error if the command cannot be run. */
  static async start(command: readonly string[], more: { readonly cwd?: string } = {}): Promise<Child> {
    const [file = "", ...words] = command;
    const child = spawn(file, words, { ...more, stdio: ["ignore", "pipe", "pipe"] });
    await once(child, "spawn");
    return new Child(child);
  }

  private constructor(child: ChildProcess) {
    this.#process = child;
    this.pid = child.pid ?? 0;
    this.#exited = once(child, "exit");
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", this.#keep);
    child.on("exit", () => this.#wake.resolve());
  }

  /** The first match in past or future output. Throws Error when it exits or after a timeout. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    return await withDeadline(
      this.#find(pattern),
      LINE_TIMEOUT_MS,
      `${pattern} from ${this.#process.spawnfile}`,
    );
  }

  /** Its whole output until it exits by itself. Throws Error for another exit code than 0. */
  async output(timeoutMs: number): Promise<string> {
    await withDeadline(this.#exited, timeoutMs, this.#process.spawnargs.join(" "));
    // Its exit may be known before the last of its output.
    await withDeadline(this.#drained(), STOP_TIMEOUT_MS, "the output of a process that ended");
    if (this.#process.exitCode !== 0) throw this.#failure();
    return this.#text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver()) return;
    this.#process.kill("SIGTERM");
    await withDeadline(this.#exited, STOP_TIMEOUT_MS, "stop").catch(() => this.#process.kill("SIGKILL"));
    await this.#exited;
  }

  readonly #keep = (text: string): void => {
    this.#text = (this.#text + text).slice(-MAX_KEPT_CHARACTERS);
    this.#wake.resolve();
  };

  async #find(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#text);
      if (found !== null) return found;
      if (this.#isOver()) throw this.#failure();
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }

  async #drained(): Promise<void> {
    const streams = [this.#process.stdout, this.#process.stderr];
    await Promise.all(
      streams.map((stream) => (stream?.closed === false ? once(stream, "close") : undefined)),
    );
  }

  #isOver(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  #failure(): Error {
    const how = this.#process.exitCode ?? this.#process.signalCode;
    return new Error(`${this.#process.spawnargs.join(" ")} ended (${how}): ${this.#text.slice(-200).trim()}`);
  }
}

/** Ends a process that is not our child: SIGTERM, then SIGKILL. Throws Error if it survives both. */
export async function endProcess(pid: number): Promise<void> {
  if (await endsBy(pid, "SIGTERM")) return;
  if (!(await endsBy(pid, "SIGKILL"))) throw new Error(`process ${pid} does not end`);
}

async function endsBy(pid: number, signal: NodeJS.Signals): Promise<boolean> {
  const end = Date.now() + STOP_TIMEOUT_MS;
  let isThere = signals(pid, signal);
  while (isThere && Date.now() < end) {
    await sleep(POLL_MS);
    isThere = signals(pid, 0);
  }
  return !isThere;
}

/** Whether the process existed when the signal was sent. */
function signals(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
