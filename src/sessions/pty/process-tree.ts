// The processes of a terminal session. A shell gives every job its own process group; the terminal session is what the groups
// have in common.
import { setTimeout } from "node:timers/promises";
import { HANGUP_GRACE_MS, SIGKILL_WAIT_MS } from "../../protocol/limits.ts";
import { type ProcessStat, processTable } from "./process-table.ts";

const table = processTable(process.platform);

/** Pauses between checks of processes: the first, doubled each time up to the last. */
const FIRST_CHECK_MS = 2;
const LAST_CHECK_MS = 100;

/** Start of a process (`ProcessStat.startTicks`); undefined if there is none, or it is not readable. */
export function startTicks(pid: number): number | undefined {
  return statIfReadable(pid)?.startTicks;
}

/** False for zombies. */
export function isRunning(pid: number): boolean {
  return statIfReadable(pid)?.isZombie === false;
}

/** The foreground process group of that process's terminal; undefined if unknown. */
export function foregroundGroup(pid: number): number | undefined {
  const group = statIfReadable(pid)?.foreground;
  return group === undefined || group <= 0 ? undefined : group;
}

const MAX_COMMAND_LENGTH = 256;

/** The command line; empty if unknown. May never resolve: see `ProcessTable.words`. */
export async function commandLine(pid: number): Promise<string> {
  try {
    const words = (await table.words(pid)).join(" ");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what is shown to people has none
    return words.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").slice(0, MAX_COMMAND_LENGTH);
  } catch {
    return "";
  }
}

/** The pids of all processes in terminal session `sessionId` (the pid of its first process) that have not ended. */
export async function sessionProcesses(sessionId: number): Promise<readonly number[]> {
  if (sessionId <= 1) return [];
  await hasBegun(sessionId);
  const processes = await allProcesses();
  return processes
    .filter((process) => process.session === sessionId && !process.isZombie)
    .map(({ pid }) => pid);
}

/**
 * Ends all processes of the terminal session that process `leaderPid` leads, its jobs included: SIGHUP, SIGTERM after
 * HANGUP_GRACE_MS, SIGKILL `graceMs` after SIGHUP (contract 2.3). Resolves with the pids of those that SIGKILL did not end
 * within SIGKILL_WAIT_MS (another user's, or stuck in the kernel). `leaderStartTicks`: from `startTicks`. Without it, or
 * when the pid belongs to another process by now, nothing is done.
 */
export async function endProcesses(
  leaderPid: number,
  leaderStartTicks: number | undefined,
  { graceMs }: { readonly graceMs: number },
): Promise<readonly number[]> {
  // Session 0 is the kernel's own, and nobody may end init's.
  if (
    leaderPid <= 1 ||
    leaderStartTicks === undefined ||
    table.stat(leaderPid)?.startTicks !== leaderStartTicks
  )
    return [];
  await hasBegun(leaderPid);
  const groups = new Set([leaderPid]);
  const living = async (): Promise<readonly ProcessStat[]> => {
    const members = await membersOf(leaderPid, leaderStartTicks);
    for (const { group } of members) groups.add(group);
    return members.filter(({ isZombie }) => !isZombie);
  };
  const hangupMs = Math.min(HANGUP_GRACE_MS, graceMs);
  // A stopped program takes no signal but SIGKILL until it is continued.
  const areEnded =
    (await areEndedBy(["SIGHUP", "SIGCONT"], hangupMs, living)) ||
    (await areEndedBy(["SIGTERM", "SIGCONT"], graceMs - hangupMs, living)) ||
    (await areEndedBy(["SIGKILL"], SIGKILL_WAIT_MS, living));
  killMissed(groups, leaderPid, leaderStartTicks);
  return areEnded ? [] : (await living()).map(({ pid }) => pid);
}

/** A process that was just forked is in its parent's session until it has made its own. */
async function hasBegun(leaderPid: number): Promise<void> {
  await until(performance.now() + SIGKILL_WAIT_MS, () => {
    const leader = table.stat(leaderPid);
    return leader === undefined || leader.isZombie || leader.session === leaderPid;
  });
}

/** Checks less and less often; `isSlow`: at the lowest rate. False when the deadline came first. */
async function until(deadline: number, isDone: (isSlow: boolean) => boolean): Promise<boolean> {
  for (let delayMs = FIRST_CHECK_MS; !isDone(delayMs === LAST_CHECK_MS); ) {
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return false;
    await setTimeout(Math.min(delayMs, leftMs));
    delayMs = Math.min(delayMs * 2, LAST_CHECK_MS);
  }
  return true;
}

/**
 * Zombies included. The kernel does not reuse a session's number while it has processes: a new leader means that the session
 * has ended.
 */
async function membersOf(leaderPid: number, leaderStartTicks: number): Promise<readonly ProcessStat[]> {
  const processes = await allProcesses();
  const leader = processes.find(({ pid }) => pid === leaderPid);
  if (leader !== undefined && leader.startTicks !== leaderStartTicks) return [];
  return processes.filter(
    (process) => process.session === leaderPid && process.startTicks >= leaderStartTicks,
  );
}

/** Signals every process group, also those that appear meanwhile, and waits at most `waitMs` for all to end. */
async function areEndedBy(
  signals: readonly NodeJS.Signals[],
  waitMs: number,
  living: () => Promise<readonly ProcessStat[]>,
): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  const signalled = new Set<number>();
  for (;;) {
    let members = await living();
    // A process that forks and ends during the first reading may hide its child from it.
    if (members.length === 0) members = await living();
    if (members.length === 0) return true;
    const fresh = members.filter(({ pid }) => !signalled.has(pid));
    for (const group of new Set(fresh.map((member) => member.group)))
      for (const signal of signals) signalProcess(-group, signal);
    for (const { pid } of fresh) signalled.add(pid);
    const areOver = await until(deadline, (isSlow) => areGone(members, isSlow));
    if (!areOver || performance.now() >= deadline) return false;
  }
}

/**
 * A program that moves on to a new process all the time is missed by one reading after the other, but not by a signal to its
 * group. Groups of other sessions have the same numbers only once the last process of this one has ended.
 */
function killMissed(groups: Iterable<number>, leaderPid: number, leaderStartTicks: number): void {
  if ((startTicks(leaderPid) ?? leaderStartTicks) !== leaderStartTicks) return;
  for (const group of groups) {
    const { session = leaderPid } = statIfReadable(group) ?? {};
    if (session === leaderPid) signalProcess(-group, "SIGKILL");
  }
}

/**
 * Other processes may have the same pids by now. `isSlow`: sends SIGWINCH, which is harmless. A shell that handled the hangup
 * just before it began to wait for a key stays in that wait until a signal interrupts it.
 */
function areGone(members: readonly ProcessStat[], isSlow: boolean): boolean {
  const left = members.filter(isLiving);
  if (isSlow) for (const { pid } of left) signalProcess(pid, "SIGWINCH");
  return left.length === 0;
}

function isLiving(process: ProcessStat): boolean {
  const now = table.stat(process.pid);
  return now !== undefined && now.startTicks === process.startTicks && !now.isZombie;
}

/** `pid`: negative for a process group. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended, or belongs to another user.
  }
}

let lastScan: Promise<unknown> = Promise.resolve();
let nextReading: Promise<readonly ProcessStat[]> | undefined;

/**
 * All processes, read after this call. Waiting callers share one reading, since ending a thousand sessions would read the
 * whole list thousands of times. The state is the module's, since the callers have no owner in common.
 */
function allProcesses(): Promise<readonly ProcessStat[]> {
  const read = (): Promise<readonly ProcessStat[]> => {
    nextReading = undefined;
    const processes = table.all();
    lastScan = processes;
    return processes;
  };
  // Also after a failure, such as for want of a file descriptor.
  nextReading ??= lastScan.then(read, read);
  return nextReading;
}

/** Undefined if there is none, or it is not readable. Throws without a free file descriptor. */
export function readStat(pid: number): ProcessStat | undefined {
  return table.stat(pid);
}

function statIfReadable(pid: number): ProcessStat | undefined {
  try {
    return table.stat(pid);
  } catch {
    return undefined;
  }
}
