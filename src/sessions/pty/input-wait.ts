// Whether a program waits for a person: it waits in the kernel for input of a terminal, and for nothing else.
import { readFileSync } from "node:fs";
import { opendir, readFile, readlink } from "node:fs/promises";
import { Mutex } from "../../lib/async/mutex.ts";
import { readStart } from "./process-table.ts";

/** Which argument is the timeout: in `ms`, or as a `pointer`, of which only NULL is known. */
type Wait = {
  readonly kind: "read" | "poll" | "select" | "epoll";
  readonly ms?: number;
  readonly pointer?: number;
};

const READ: Wait = { kind: "read" };
const SELECT: Wait = { kind: "select", pointer: 4 };
const EPOLL: Wait = { kind: "epoll", ms: 3 };
const EPOLL_PWAIT2: Wait = { kind: "epoll", pointer: 3 };
const POLL: Wait = { kind: "poll", ms: 2 };
const PPOLL: Wait = { kind: "poll", pointer: 2 };

/** Numbers of system calls (asm/unistd.h). Elsewhere nothing is known to wait. */
const CALLS: Partial<Record<string, { readonly [call: string]: Wait }>> = {
  x64: { 0: READ, 7: POLL, 271: PPOLL, 23: SELECT, 270: SELECT, 232: EPOLL, 281: EPOLL, 441: EPOLL_PWAIT2 },
  arm64: { 63: READ, 73: PPOLL, 72: SELECT, 22: EPOLL, 441: EPOLL_PWAIT2 },
};
/** Programs that wake up more often have work besides their input. */
const MIN_TIMEOUT_MS = 1_000;
/** Nothing is known of processes with more, so that a check stays cheap. */
const MAX_DESCRIPTORS = 256;
/** A line of an epoll's description has less than 128 bytes. */
const MAX_EPOLL_BYTES = MAX_DESCRIPTORS * 128;
/** Of a command and its descendants. */
const MAX_PROCESSES = 32;

/** Whether that process or one of its descendants waits in the kernel for input of a terminal. False if unknown. */
export async function isReadingTerminal(pid: number): Promise<boolean> {
  const pids = [pid];
  for (const one of pids) {
    if (await reads.take(() => isReading(one))) return true;
    pids.push(...childrenOf(one).slice(0, MAX_PROCESSES - pids.length));
  }
  return false;
}

/** Descriptors and what they are links to. */
type Descriptors = ReadonlyMap<number, string>;

/**
 * Keeps the other threads that read files free. The state is the module's, since the threads are the process's. The kernel
 * answers about a process only between its execs, which a FUSE can delay for ever, and takes seconds for an epoll of
 * hundreds of thousands of descriptors.
 */
const reads = new Mutex();

/** NOTE: never reads a process's memory, which can block for ever (userfaultfd, FUSE). */
async function isReading(pid: number): Promise<boolean> {
  try {
    const [call = "", ...values] = (await readFile(`/proc/${pid}/syscall`, "latin1")).split(" ");
    const wait = CALLS[process.arch]?.[call];
    if (wait === undefined || !isLong(wait, values)) return false;
    const [first = Number.NaN, second = Number.NaN] = values.map(Number);
    if (wait.kind === "read") return isTerminal(await readlink(`/proc/${pid}/fd/${first}`));
    const open = await descriptorsOf(pid);
    const candidates = await {
      poll: () => polled(open, second),
      select: () => selected(open, first, second),
      epoll: () => watched(pid, first),
    }[wait.kind]();
    return (
      candidates.some((fd) => isTerminal(open.get(fd))) &&
      candidates.every((fd) => isTerminal(open.get(fd)) || isIdle(pid, open, fd))
    );
  } catch {
    // It has ended, runs at the moment, or is another user's.
    return false;
  }
}

/** Whether a call has no timeout, or one that leaves a person time. */
function isLong({ ms, pointer }: Wait, values: readonly string[]): boolean {
  if (pointer !== undefined) return BigInt(values[pointer] ?? "") === 0n;
  if (ms === undefined) return true;
  const timeoutMs = BigInt.asIntN(32, BigInt(values[ms] ?? ""));
  return timeoutMs < 0n || timeoutMs >= MIN_TIMEOUT_MS;
}

/** The polled descriptors are in memory. If more are polled than are no terminals, one is a terminal; none is known otherwise. */
function polled(open: Descriptors, count: number): readonly number[] {
  const others = [...open.values()].filter((target) => !isTerminal(target)).length;
  return count > others ? [...open.keys()] : [];
}

/** The selected descriptors are in memory. The highest is selected, and of those below it any may be. */
function selected(open: Descriptors, end: number, readable: number): readonly number[] {
  const isSelected = readable !== 0 && isTerminal(open.get(end - 1));
  return isSelected ? [...open.keys()].filter((fd) => fd < end) : [];
}

async function watched(pid: number, epoll: number): Promise<readonly number[]> {
  const text = await readStart(`/proc/${pid}/fdinfo/${epoll}`, MAX_EPOLL_BYTES);
  if (text.length === MAX_EPOLL_BYTES) throw new RangeError(`process ${pid} watches too many descriptors`);
  return Array.from(text.matchAll(/^tfd:\s*(\d+)/gm), ([, fd]) => Number(fd));
}

async function descriptorsOf(pid: number): Promise<Descriptors> {
  const open = new Map<number, string>();
  for await (const { name } of await opendir(`/proc/${pid}/fd`)) {
    if (open.size === MAX_DESCRIPTORS) throw new RangeError(`process ${pid} has too many descriptors`);
    open.set(Number(name), await readlink(`/proc/${pid}/fd/${name}`));
  }
  return open;
}

function isTerminal(target: string | undefined): boolean {
  return target !== undefined && /^\/dev\/(?:pts\/\d+|tty)$/.test(target);
}

/** Whether a descriptor cannot bring the work of others: an event or a signal, or a pipe from the process to itself. */
function isIdle(pid: number, open: Descriptors, fd: number): boolean {
  const target = open.get(fd) ?? "";
  if (/^(?:\/dev\/null|anon_inode:\[(?:eventfd|signalfd|timerfd)\])$/.test(target)) return true;
  if (!target.startsWith("pipe:")) return false;
  const ends = [...open].filter(([, its]) => its === target).map(([one]) => accessMode(pid, one));
  return ends.includes("0") && ends.includes("1");
}

/** O_RDONLY is 0, O_WRONLY 1. */
function accessMode(pid: number, fd: number): string | undefined {
  return /^flags:\s*[0-7]*([0-7])$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "latin1"))?.[1];
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1");
    return (text.match(/\d+/g) ?? []).map(Number);
  } catch {
    return [];
  }
}
