import { z } from "zod";
import { isRunning, startTicks } from "../pty/process-tree.ts";

/** Which session host a session belongs to, as its record has it. */
export const HostMark = z.object({ pid: z.int(), startTicks: z.number().optional() });
export type HostMark = z.infer<typeof HostMark>;

/** That of this process. */
export function ownMark(): HostMark {
  const ticks = startTicks(process.pid);
  return { pid: process.pid, ...(ticks === undefined ? {} : { startTicks: ticks }) };
}

/** Whether that host lives, and is not this one: then a record that names it is a copy, and its program is that host's. */
export function isAnothers(mark: HostMark | undefined): boolean {
  if (mark?.startTicks === undefined || mark.pid === process.pid) return false;
  return startTicks(mark.pid) === mark.startTicks && isRunning(mark.pid);
}
