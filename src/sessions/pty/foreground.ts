import { COMMAND_FINISHED_MIN_MS } from "../../protocol/limits.ts";
import { commandLine, foregroundGroup } from "./process-tree.ts";
import type { CommandMark } from "./title-scan.ts";

/** A command that ran in a session's foreground and has ended. */
export type FinishedCommand = {
  readonly kind: "command";
  /** Empty if unknown. */
  readonly command: string;
  /** In milliseconds. */
  readonly duration: number;
  /** From the shell integration; without one 0. */
  readonly exitCode: number;
};

/** Checks after output: the second one for busy machines, which start programs late. */
const CHECK_AFTER_MS = 100;
const LATE_CHECK_AFTER_MS = 1_000;

type Started = { readonly atMs: number; command: string };

/** Looks up the process group in the foreground of a terminal, and the command of a process. */
export type ForegroundProcesses = {
  readonly group: (pid: number) => number | undefined;
  readonly command: (pid: number) => string;
};

/**
 * Reports commands that took COMMAND_FINISHED_MIN_MS or more, from the marks of the shell integration or else from the
 * terminal's foreground process group. Only output causes checks, since a shell prints a prompt after each command; a
 * silent session costs nothing.
 */
export class Foreground implements Disposable {
  readonly #pid: number;
  readonly #now: () => number;
  readonly #processes: ForegroundProcesses;
  readonly #onFinished: (finished: FinishedCommand) => void;
  #timer: NodeJS.Timeout | undefined;
  #isLate = false;
  /** Time of the output that caused the next check. */
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

  /** `marks`: in this output. */
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
    // Before exec the new process still has the shell's command line.
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
