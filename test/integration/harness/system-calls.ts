// The programs, files and sockets that a process uses, traced by strace.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const TRACED =
  "execve,execveat,open,openat,openat2,connect,clone,clone3,fork,vfork,rename,renameat2,unlink,mkdir";

/** One system call of a thread of the traced process, or of one of its children. */
export type SystemCall = {
  readonly name: string;
  readonly text: string;
  /**
   * The child of the traced process that made the call or started its process; `undefined`: the traced process itself.
   */
  readonly child: number | undefined;
};

/** Traces a process from now on. Needs root, or a system that lets users trace their own processes. */
export class SystemCallTrace implements AsyncDisposable {
  readonly #strace: ChildProcess;
  readonly #directory: string;
  readonly #threads: ReadonlySet<number>;

  private constructor(strace: ChildProcess, directory: string, threads: ReadonlySet<number>) {
    this.#strace = strace;
    this.#directory = directory;
    this.#threads = threads;
  }

  static async of(pid: number): Promise<SystemCallTrace> {
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-strace-"));
    const args = [
      "-f",
      "-s",
      "4096",
      "-e",
      `trace=${TRACED}`,
      "-o",
      join(directory, "calls"),
      "-p",
      `${pid}`,
    ];
    const strace = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
    for await (const line of createInterface({ input: strace.stderr })) if (line.includes("attached")) break;
    strace.stderr.resume();
    const threads = new Set((await readdir(`/proc/${pid}/task`)).map(Number));
    return new SystemCallTrace(strace, directory, threads);
  }

  /** Ends the trace. Returns the calls. */
  async calls(): Promise<readonly SystemCall[]> {
    await this.#end();
    const lines = (await readFile(join(this.#directory, "calls"), "utf8")).split("\n").filter(Boolean);
    return callsOf(lines, this.#threads);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    if (this.#strace.exitCode !== null || this.#strace.signalCode !== null) return;
    const ended = once(this.#strace, "exit");
    this.#strace.kill("SIGINT");
    await ended;
  }
}

function callsOf(lines: readonly string[], threads: ReadonlySet<number>): readonly SystemCall[] {
  const own = new Set(threads);
  /** The creator of a process or thread. Its own calls may precede the end of the call that created it. */
  const creators = new Map<number, number>();
  const calls = wholeCalls(lines);
  for (const { pid, name, text } of calls) {
    const created = /^(?:clone3?|v?fork)$/.test(name) ? Number(/= (\d+)/.exec(text)?.[1]) : Number.NaN;
    if (Number.isNaN(created)) continue;
    if (own.has(pid) && text.includes("CLONE_THREAD")) own.add(created);
    else creators.set(created, pid);
  }
  const childOf = (pid: number): number | undefined => {
    if (own.has(pid)) return undefined;
    const creator = creators.get(pid);
    return creator === undefined || own.has(creator) ? pid : childOf(creator);
  };
  return calls.map(({ pid, name, text }) => ({ name, text, child: childOf(pid) }));
}

function wholeCalls(
  lines: readonly string[],
): readonly { readonly pid: number; readonly name: string; readonly text: string }[] {
  const unfinished = new Map<number, string>();
  return lines.flatMap((line) => {
    const [, pidText = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const pid = Number(pidText);
    if (rest.endsWith("<unfinished ...>")) {
      unfinished.set(pid, rest.slice(0, -"<unfinished ...>".length));
      return [];
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1];
    const text = resumed === undefined ? rest : (unfinished.get(pid) ?? "") + resumed;
    const name = /^(\w+)\(/.exec(text)?.[1];
    return name === undefined ? [] : [{ pid, name, text }];
  });
}
