import { COMMAND_FINISHED_MIN_MS } from "../../protocol/limits.ts";
import { commandLine, foregroundGroup } from "./process-tree.ts";
import type { CommandMark } from "./title-scan.ts";

/** A command that ran in a session's foreground and has ended. */
export type FinishedCommand = {
  readonly kind: "command";
  /** Empty where it cannot be seen. */
  readonly command: string;
  /** In milliseconds. */
  readonly duration: number;
  /** As the shell's integration tells it; else 0, because only the shell learns it. */
  readonly exitCode: number;
};

/** A look follows output after this long, and once more after the second: a busy machine starts programs late. */
const CHECK_AFTER_MS = 100;
const LATE_CHECK_AFTER_MS = 1_000;

type Started = { readonly atMs: number; command: string };

/** How the foreground of a terminal is seen: which process group has it, and what a process runs. */
export type ForegroundProcesses = {
  readonly group: (pid: number) => number | undefined;
  readonly command: (pid: number) => string;
};

/**
 * Tells of commands of COMMAND_FINISHED_MIN_MS and more: by the marks of the shell's integration where it sends some, else
 * by the process group that has the terminal. Only output causes a look, as a shell shows a command and then its prompt;
 * a session that is quiet costs nothing.
 */
export class Foreground implements Disposable {
  readonly #pid: number;
  readonly #now: () => number;
  readonly #processes: ForegroundProcesses;
  readonly #onFinished: (finished: FinishedCommand) => void;
  #timer: NodeJS.Timeout | undefined;
  #isLate = false;
  /** When the output came that the next look is for. */
  #stirredMs = 0;
  #started: Started | undefined;
  #hasMarks = false;

  /** `pid`: of the session's own program, the shell. `now` in milliseconds, monotonic. */
  constructor(options: {
    readonly pid: number;
    readonly now: () => number;
    readonly processes?: ForegroundProcesses;
    readonly onFinished: (finished: FinishedCommand) => void;
  }) {
    this.#pid = options.pid;
    this.#now = options.now;
    this.#processes = options.processes ?? { group: foregroundGroup, command: commandLine };
    this.#onFinished = options.onFinished;
  }

  /** There was output, with these marks in it. */
  output(marks: readonly CommandMark[]): void {
    for (const mark of marks) this.#marked(mark);
    if (this.#timer !== undefined && !this.#isLate) return;
    this.#stirredMs = this.#now();
    this.#checkLater(CHECK_AFTER_MS, false);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #checkLater(afterMs: number, isLate: boolean): void {
    clearTimeout(this.#timer);
    this.#isLate = isLate;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#check(isLate ? this.#now() : this.#stirredMs);
      if (!isLate) this.#checkLater(LATE_CHECK_AFTER_MS, true);
    }, afterMs);
    this.#timer.unref();
  }

  #marked(mark: CommandMark): void {
    this.#hasMarks = true;
    if (mark.kind === "started") this.#started = { atMs: this.#now(), command: "" };
    else this.#finish(this.#now(), mark.exitCode ?? 0);
  }

  #check(atMs: number): void {
    const group = this.#processes.group(this.#pid);
    if (group === undefined) return;
    const isShell = group === this.#pid;
    if (isShell && !this.#hasMarks) this.#finish(atMs, 0);
    if (isShell) return;
    if (!this.#hasMarks) this.#started ??= { atMs, command: "" };
    if (this.#started === undefined) return;
    // At the first look it may be the shell's own line still: the program was not loaded yet.
    this.#started.command = this.#processes.command(group) || this.#started.command;
  }

  #finish(atMs: number, exitCode: number): void {
    const started = this.#started;
    this.#started = undefined;
    if (started === undefined) return;
    const duration = Math.round(atMs - started.atMs);
    if (duration < COMMAND_FINISHED_MIN_MS) return;
    this.#onFinished({ kind: "command", command: started.command, duration, exitCode });
  }
}
