import { z } from "zod";
import { ExitReason, type SessionRecord } from "../../protocol/schemas/session.ts";
import { isRunning, startTicks } from "../pty/process-tree.ts";

/** The content of `session.json`. */
export const StoredSession = z.object({
  id: z.string(),
  /** Absent in sessions of older versions. */
  key: z.string().optional(),
  name: z.string(),
  /** Absent: the server's own, which belongs to no user, whatever the user's name. */
  owner: z.string().optional(),
  /** The system user that it runs as, where that is not the session host's own. */
  account: z.string().optional(),
  command: z.array(z.string()),
  cwd: z.string(),
  /** `cwd` is the home directory: the requested one is not accessible. */
  cwdFallback: z.literal(true).optional(),
  /** ISO 8601. */
  created: z.string(),
  pid: z.int(),
  /** Start of the program in clock ticks since boot; distinguishes later processes with the same pid. */
  startTicks: z.number().optional(),
  /** The process of its session host. Absent in sessions of older versions. */
  host: z.object({ pid: z.int(), startTicks: z.number().optional() }).optional(),
  /** It is removed when its program has ended. */
  transient: z.boolean().optional(),
  cols: z.int(),
  rows: z.int(),
  /** Absent in sessions of older versions. */
  initialCols: z.int().optional(),
  initialRows: z.int().optional(),
  shell: z.string(),
  title: z.string().optional(),
  exit: z
    .object({
      code: z.int(),
      signal: z.string().optional(),
      reason: ExitReason,
      /** A user ended the session. */
      endRequested: z.literal(true).optional(),
      at: z.string(),
      outputBytes: z.int(),
    })
    .optional(),
});
export type StoredSession = z.infer<typeof StoredSession>;

/** Older versions stored the server's user as owner of the server's own sessions. A user of an HQ may have that name. */
export function withoutOwnName({ owner, ...stored }: StoredSession, serverUser: string): StoredSession {
  return owner === undefined || owner === serverUser ? stored : { ...stored, owner };
}

/** The session for clients; `now`: the frequently changing fields. */
export function sessionRecord(
  stored: StoredSession,
  now: Pick<SessionRecord, "lastModified" | "outputBytes" | "viewers" | "recording" | "lostBytes">,
): SessionRecord {
  const { id, key, name, command, cwd, created, pid, cols, rows, owner, title, exit } = stored;
  const { cwdFallback, initialCols, initialRows } = stored;
  return {
    ...{ key, id, sessionId: id, name, created, startedAt: created, pid, command },
    ...{ cwd, workingDir: cwd, cwdFallback, cols, rows, initialCols, initialRows, ...now, owner, title },
    status: exit === undefined ? "running" : "exited",
    exitCode: exit?.code,
    exitReason: exit?.reason,
    exitSignal: exit?.signal,
    exitedAt: exit?.at,
    endRequested: exit?.endRequested,
  };
}

/** Whether another live host owns the session: its record is a copy then. */
export function isOfAnotherHost({ host }: StoredSession): boolean {
  if (host?.startTicks === undefined || host.pid === process.pid) return false;
  return startTicks(host.pid) === host.startTicks && isRunning(host.pid);
}
