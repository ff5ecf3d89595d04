import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, endProcess } from "./child.ts";
import type { Expectation } from "./expected-output.ts";
import { ansiBlock, type LoadKind, plainBlock, throughTerminal } from "./load.ts";
import { pidsOf } from "./process-group.ts";

const COMPILE_TIMEOUT_MS = 60_000;
const MIB = 1024 * 1024;

/** The arguments of a program in a terminal, and its expected output. */
export type Work = {
  readonly words: readonly string[];
  readonly expectation: Expectation;
  /** Bytes of output between the start key and the end; 0 without a start key. */
  readonly bytes: number;
};

/**
 * The tools of one run: C programs, compiled if they are older than their source, and the blocks that they write. The
 * directory belongs to the run, so this run started every process of `program` in it.
 */
export class Workshop implements AsyncDisposable {
  readonly directory: string;
  readonly #blocks: Readonly<Record<LoadKind, Uint8Array>> = { plain: plainBlock(), ansi: ansiBlock() };

  static async open(): Promise<Workshop> {
    const bench = join(import.meta.dirname, "..");
    const workshop = new Workshop(mkdtempSync(join(tmpdir(), "ttyhq-bench-")));
    for (const name of ["program", "floor"]) {
      const built = join(bench, ".build", name);
      await compile(join(bench, "programs", `${name}.c`), built);
      copyFileSync(built, join(workshop.directory, name));
    }
    return workshop;
  }

  private constructor(directory: string) {
    this.directory = directory;
    for (const kind of ["plain", "ansi"] as const) writeFileSync(this.#file(kind), this.#blocks[kind]);
  }

  /** The program in the terminals. */
  get program(): string {
    return join(this.directory, "program");
  }

  get floor(): string {
    return join(this.directory, "floor");
  }

  /** At least that much output, at the terminal's speed, after a key. */
  load(kind: LoadKind, mebibytes: number): Work {
    const block = throughTerminal(this.#blocks[kind]).length;
    const count = Math.ceil((mebibytes * MIB) / block);
    return {
      words: ["load", this.#file(kind), String(count)],
      expectation: { kind: "load", file: this.#file(kind), count },
      bytes: count * block + "END\r\n".length,
    };
  }

  /** Prints that many bytes (before the terminal adds to them) and exits at once. */
  burst(bytes: number): Work {
    const words = ["burst", this.#file("plain"), String(bytes)];
    return { words, expectation: { kind: "burst", file: this.#file("plain"), bytes }, bytes: 0 };
  }

  /** Prints READY, then echoes its input. */
  echo(): Work {
    return { words: ["echo"], expectation: { kind: "echo" }, bytes: 0 };
  }

  /** The arguments of a program that writes log lines above a line that counts the keys: "key N". */
  typing(bytesPerSecond: number): readonly string[] {
    return ["typing", this.#file("plain"), String(bytesPerSecond)];
  }

  /** Ends programs that a server left behind, and removes the directory. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(pidsOf(this.program).map(endProcess));
    rmSync(this.directory, { recursive: true, force: true });
  }

  #file(kind: LoadKind): string {
    return join(this.directory, `${kind}.block`);
  }
}

async function compile(source: string, target: string): Promise<void> {
  const built = statSync(target, { throwIfNoEntry: false });
  if (built !== undefined && built.mtimeMs > statSync(source).mtimeMs) return;
  mkdirSync(join(target, ".."), { recursive: true });
  await using cc = await Child.start(["cc", "-O2", "-Wall", "-Wextra", "-o", target, source, "-lutil"]);
  await cc.output(COMPILE_TIMEOUT_MS);
}
