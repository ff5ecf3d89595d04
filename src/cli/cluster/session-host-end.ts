import { setTimeout as pause } from "node:timers/promises";
import { isTimeout, withDeadline } from "../../lib/async/deadline.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { hostHealth } from "../../remote/host-process.ts";
import { isRunning } from "../../sessions/pty/process-tree.ts";
import { localSockets } from "../server.ts";

const ANSWER_TIMEOUT_MS = 5_000;
/** Its programs are asked to end first, each of which may take some seconds. */
const STOP_TIMEOUT_MS = 10_000;
/** What the system is given to end what cannot refuse. */
const KILL_TIMEOUT_MS = 2_000;
const LOOK_MS = 20;

/**
 * Ends the session host of a control directory with its programs; resolves when it is gone, or there was none, or
 * `hurry` aborts: then it is still told to end, which it does by itself. Throws `host_unreachable` for one that hangs
 * and so cannot be asked who it is.
 */
export async function endSessionHost(controlDir: string, hurry: AbortSignal): Promise<void> {
  const pid = await hostPid(controlDir);
  if (pid === undefined) return;
  if (await isGone(pid, "SIGTERM", STOP_TIMEOUT_MS, hurry)) return;
  if (!hurry.aborted) await isGone(pid, "SIGKILL", KILL_TIMEOUT_MS, hurry);
}

/** False when it takes longer than that, or nobody waits for it. It is no child of this process, so nobody tells. */
async function isGone(
  pid: number,
  signal: "SIGTERM" | "SIGKILL",
  ms: number,
  hurry: AbortSignal,
): Promise<boolean> {
  const gone = async (stop: AbortSignal): Promise<true> => {
    while (isRunning(pid)) await pause(LOOK_MS, undefined, { signal: stop });
    return true;
  };
  if (isRunning(pid)) process.kill(pid, signal);
  return await withDeadline(gone, ms, "the end of the session host", hurry).catch(() => false);
}

async function hostPid(controlDir: string): Promise<number | undefined> {
  const { host } = localSockets(controlDir);
  try {
    return (await withDeadline(hostHealth(host), ANSWER_TIMEOUT_MS, "the health of the session host"))?.pid;
  } catch (cause) {
    if (!isTimeout(cause)) throw cause;
    const message = `the session host in ${controlDir} does not answer: it was left running`;
    throw new ServiceError("host_unreachable", message, { cause });
  }
}
