import {
  COMMAND_FINISHED_MIN_MS,
  INPUT_WAIT_MIN_WORK_MS,
  INPUT_WAIT_QUIET_MS,
  PROGRAM_NOTIFICATION_INTERVAL_MS,
} from "../../protocol/limits.ts";
import { isReadingTerminal } from "./input-wait.ts";
import { commandLine, foregroundGroup } from "./process-tree.ts";
import type { CommandMark, ProgramNotification } from "./title-scan.ts";

/** An event of a session (`ServerEvent`): a command has ended, the program waits for input, or it sent a notification. */
export type ForegroundNews =
  | {
      readonly type: "command-finished";
      /** Empty if unknown. */
      readonly command: string;
      /** In milliseconds. */
      readonly duration: number;
      /** From the shell integration; without one 0. */
      readonly exitCode: number;
    }
  | { readonly type: "waiting-for-input" }
  | ({ readonly type: "program-notification" } & ProgramNotification);

/** Checks after output: the second one for busy machines, which start programs late. */
const CHECK_AFTER_MS = 100;
const LATE_CHECK_AFTER_MS = 1_000;

type Started = { readonly atMs: number; command: string };

const SYSTEM = { group: foregroundGroup, command: commandLine, isReadingTerminal };

type ForegroundOptions = {
  /** Of the session's own program, the shell. */
  readonly pid: number;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Time of the last input, or of the start. */
  readonly typedMs: () => number;
  readonly processes?: typeof SYSTEM;
  readonly onNews: (news: ForegroundNews) => void;
};

/**
 * Reports commands that took COMMAND_FINISHED_MIN_MS or more, from marks of the shell integration or else from the
 * foreground process group, and programs that wait for a person. Only output causes checks, since a shell prints a prompt
 * after each command; a silent session costs nothing.
 */
export class Foreground implements Disposable {
  readonly #options: ForegroundOptions;
  readonly #processes: typeof SYSTEM;
  #notifiedMs = Number.NEGATIVE_INFINITY;
  #check: NodeJS.Timeout | undefined;
  #lateCheck: NodeJS.Timeout | undefined;
  #waitCheck: NodeJS.Timeout | undefined;
  #outputMs = 0;
  /** Output up to then needs nobody's attention any more. */
  #toldMs = Number.NEGATIVE_INFINITY;
  #started: Started | undefined;
  #hasMarks = false;
  #isNaming = false;
  /** The system may never answer. */
  #isAsking = false;

  constructor(options: ForegroundOptions) {
    this.#options = options;
    this.#processes = options.processes ?? SYSTEM;
  }

  /** `marks` and `notification`: in this output. */
  output(marks: readonly CommandMark[], notification?: ProgramNotification): void {
    this.#outputMs = this.#options.now();
    this.#waitCheck ??= this.#checkWaitAfter(INPUT_WAIT_QUIET_MS);
    for (const mark of marks) this.#marked(mark);
    if (notification !== undefined) this.#notify(notification);
    this.#check ??= this.#checkSoon(this.#outputMs);
  }

  [Symbol.dispose](): void {
    // An answer of the system that is awaited comes too late.
    this.#outputMs = Number.NaN;
    clearTimeout(this.#check);
    clearTimeout(this.#lateCheck);
    clearTimeout(this.#waitCheck);
  }

  #checkWaitAfter(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#checkWait(), ms).unref();
  }

  /**
   * Reports once after output that came INPUT_WAIT_MIN_WORK_MS or more after the last input: what answers a key at once was
   * seen by the person who pressed it. Looks at processes once for each quiet time.
   */
  #checkWait(): void {
    const { pid, now, typedMs, onNews } = this.#options;
    const leftMs = this.#outputMs + INPUT_WAIT_QUIET_MS - now();
    this.#waitCheck = leftMs > 0 ? this.#checkWaitAfter(leftMs) : undefined;
    const workedMs = this.#outputMs - Math.max(typedMs(), this.#toldMs);
    if (leftMs > 0 || workedMs < INPUT_WAIT_MIN_WORK_MS || this.#isAsking) return;
    const outputMs = this.#outputMs;
    this.#isAsking = true;
    void this.#processes.isReadingTerminal(this.#processes.group(pid) ?? pid).then((isWaiting) => {
      this.#isAsking = false;
      if (isWaiting && outputMs === this.#outputMs) onNews({ type: "waiting-for-input" });
    });
  }

  #tell(news: ForegroundNews): void {
    this.#toldMs = this.#options.now();
    this.#options.onNews(news);
  }

  #notify(notification: ProgramNotification): void {
    const nowMs = this.#options.now();
    if (nowMs - this.#notifiedMs < PROGRAM_NOTIFICATION_INTERVAL_MS) return;
    this.#notifiedMs = nowMs;
    this.#tell({ type: "program-notification", ...notification });
  }

  #checkSoon(outputMs: number): NodeJS.Timeout {
    clearTimeout(this.#lateCheck);
    const check = (): void => {
      this.#check = undefined;
      this.#lookUp(outputMs);
      this.#lateCheck = setTimeout(() => this.#lookUp(this.#options.now()), LATE_CHECK_AFTER_MS).unref();
    };
    return setTimeout(check, CHECK_AFTER_MS).unref();
  }

  #marked(mark: CommandMark): void {
    this.#hasMarks = true;
    if (mark.kind === "started") this.#started = { atMs: this.#options.now(), command: "" };
    else this.#finish(this.#options.now(), mark.exitCode ?? 0);
  }

  #lookUp(atMs: number): void {
    const group = this.#processes.group(this.#options.pid);
    if (group === undefined) return;
    const isShell = group === this.#options.pid;
    if (isShell && !this.#hasMarks) this.#finish(atMs, 0);
    if (isShell) return;
    if (!this.#hasMarks) this.#started ??= { atMs, command: "" };
    if (this.#started !== undefined && !this.#isNaming) void this.#name(this.#started, group);
  }

  /** Again at each check: before exec the new process still has the shell's command line. */
  async #name(started: Started, group: number): Promise<void> {
    this.#isNaming = true;
    started.command = (await this.#processes.command(group)) || started.command;
    this.#isNaming = false;
  }

  #finish(atMs: number, exitCode: number): void {
    const started = this.#started;
    this.#started = undefined;
    if (started === undefined) return;
    const duration = Math.round(atMs - started.atMs);
    if (duration < COMMAND_FINISHED_MIN_MS) return;
    this.#tell({ type: "command-finished", command: started.command, duration, exitCode });
  }
}
