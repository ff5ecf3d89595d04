// Whether the program in a terminal's foreground waits for a person: it wrote something, has been quiet since, and reads the
// terminal.
import { readFileSync, readlinkSync } from "node:fs";
import { INPUT_WAIT_MIN_WORK_MS, INPUT_WAIT_QUIET_MS } from "../../protocol/limits.ts";

type InputWaitOptions = {
  readonly now: () => number;
  /** Time of the last input, or of the start. */
  readonly typedMs: () => number;
  readonly isReading: () => boolean;
  readonly onWaiting: () => void;
};

/**
 * Tells once after output that came INPUT_WAIT_MIN_WORK_MS or more after the last input: what answers a key at once was seen by
 * the person who pressed it. Processes are looked at once for each quiet time; a silent session costs nothing.
 */
export class InputWait implements Disposable {
  readonly #options: InputWaitOptions;
  #timer: NodeJS.Timeout | undefined;
  #writtenMs = 0;
  /** Output up to then needs nobody's attention any more. */
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: InputWaitOptions) {
    this.#options = options;
  }

  output(): void {
    this.#writtenMs = this.#options.now();
    this.#timer ??= this.#checkAfter(INPUT_WAIT_QUIET_MS);
  }

  /** People were told of the session for another reason. */
  told(): void {
    this.#toldMs = this.#options.now();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #checkAfter(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#check(), ms).unref();
  }

  #check(): void {
    const { now, typedMs, isReading, onWaiting } = this.#options;
    const leftMs = this.#writtenMs + INPUT_WAIT_QUIET_MS - now();
    this.#timer = leftMs > 0 ? this.#checkAfter(leftMs) : undefined;
    const workedMs = this.#writtenMs - Math.max(typedMs(), this.#toldMs);
    if (leftMs > 0 || workedMs < INPUT_WAIT_MIN_WORK_MS || !isReading()) return;
    onWaiting();
  }
}

/** Numbers of system calls (asm/unistd.h). Elsewhere nothing is known to wait. */
const CALLS: Partial<Record<string, { readonly [call: number]: "read" | "select" | "epoll" }>> = {
  x64: { 0: "read", 23: "select", 270: "select", 232: "epoll", 281: "epoll", 441: "epoll" },
  arm64: { 63: "read", 72: "select", 22: "epoll", 441: "epoll" },
};
/** Of a command and its descendants. */
const MAX_PROCESSES = 32;

/** Whether that process or one of its descendants waits in the kernel for input of a terminal. False if unknown. */
export function isReadingTerminal(pid: number): boolean {
  const pids = [pid];
  for (const one of pids) {
    if (isReading(one)) return true;
    pids.push(...childrenOf(one).slice(0, MAX_PROCESSES - pids.length));
  }
  return false;
}

function isReading(pid: number): boolean {
  try {
    const [call = Number.NaN, first = Number.NaN] = readFileSync(`/proc/${pid}/syscall`, "latin1")
      .split(" ")
      .map(Number);
    const kind = CALLS[process.arch]?.[call];
    if (kind === "read") return isTerminal(pid, first);
    // Of the descriptors below 1.
    if (kind === "select") return first === 1 && isTerminal(pid, 0);
    if (kind !== "epoll") return false;
    const watched = readFileSync(`/proc/${pid}/fdinfo/${first}`, "latin1").matchAll(/^tfd:\s*(\d+)/gm);
    return [...watched].some(([, fd]) => isTerminal(pid, Number(fd)));
  } catch {
    // It has ended, or is another user's.
    return false;
  }
}

function isTerminal(pid: number, fd: number): boolean {
  return /^\/dev\/(?:pts\/\d+|tty)$/.test(readlinkSync(`/proc/${pid}/fd/${fd}`));
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1");
    return (text.match(/\d+/g) ?? []).map(Number);
  } catch {
    return [];
  }
}
