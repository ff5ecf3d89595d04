// A real program in a real terminal.
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { endProcesses, startTicks } from "../../../src/sessions/pty/process-tree.ts";
import { type Pty, type PtyExit, spawnPty } from "../../../src/sessions/pty/pty.ts";

/** A program, its whole output, and its end. Disposal ends it with its jobs. */
export class Program implements AsyncDisposable {
  readonly pty: Pty;
  readonly ended: Promise<PtyExit>;
  readonly #ticks: number | undefined;
  readonly #chunks: Uint8Array[] = [];
  readonly #onOutput = new Set<() => void>();
  #ends = 0;

  /** Runs in the folder of temporary files. `onChunk` is called with each chunk of output. */
  constructor(file: string, args: readonly string[], onChunk: (pty: Pty) => void = () => {}) {
    const { promise, resolve } = Promise.withResolvers<PtyExit>();
    this.ended = promise;
    const env = { PATH: process.env.PATH ?? "", PS1: "$ ", TERM: "xterm-256color" };
    const size = { cols: 80, rows: 24 };
    this.pty = spawnPty(
      { file, args, env, cwd: tmpdir(), size },
      {
        onOutput: (chunk) => {
          if (this.#ends > 0) throw new Error("output after the end");
          this.#chunks.push(chunk.slice());
          onChunk(this.pty);
          for (const listener of this.#onOutput) listener();
        },
        onEnd: (exit) => {
          this.#ends += 1;
          if (this.#ends > 1) throw new Error("a second end");
          resolve(exit);
        },
      },
    );
    this.#ticks = startTicks(this.pty.pid);
  }

  get bytes(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }

  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  /** The first match in past or future output. */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.text);
      if (match !== null) return match;
      await this.more();
    }
  }

  /** Resolves at the next output. */
  async more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onOutput.add(resolve);
    await promise;
    this.#onOutput.delete(resolve);
  }

  async end(graceMs = 3000): Promise<readonly number[]> {
    return endProcesses(this.pty.pid, this.#ticks, { graceMs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end(0);
    this.pty[Symbol.dispose]();
  }
}

/** A line for the POSIX shell. */
export function shell(script: string): Program {
  return new Program("sh", ["-c", script]);
}

/** Zombie children of this process. */
export function zombies(): readonly string[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").split(" ");
  return children.filter((pid) => {
    try {
      return / Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
    } catch {
      return false;
    }
  });
}
