import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { DEFAULT_COLS, DEFAULT_ROWS } from "../../protocol/limits.ts";
import { GitStatus, SessionRecord, SessionStatus, TerminalSize } from "../../protocol/schemas/session.ts";

const Text = z.string().optional().catch(undefined);
const Whole = z.int().optional().catch(undefined);
/** Other servers may have sizes that no frame can carry. */
const Extent = TerminalSize.shape.cols.optional().catch(undefined);

/** Specification 2.3, with VibeTunnel's names for the same fields. */
const Specified = z.looseObject({
  ...{
    id: Text,
    sessionId: Text,
    name: Text,
    created: Text,
    startedAt: Text,
    lastModified: Text,
    title: Text,
  },
  ...{ cwd: Text, workingDir: Text, exitSignal: Text, pid: Whole, exitCode: Whole, outputBytes: Whole },
  ...{ cols: Extent, rows: Extent, initialCols: Extent, initialRows: Extent },
  status: SessionStatus.optional().catch("exited"),
  command: z.union([SessionRecord.shape.command, z.string()]).optional().catch(undefined),
  args: SessionRecord.shape.command.optional().catch(undefined),
});

const LONGEST_TURN_MS = 10;

/** For sessions without a creation time. */
const UNKNOWN_TIME = new Date(0).toISOString();

function complete(given: z.infer<typeof Specified>, context: z.RefinementCtx): SessionRecord {
  const id = given.id ?? given.sessionId;
  if (id === undefined) {
    context.addIssue("a session without an id");
    return z.NEVER;
  }
  const created = given.created ?? given.startedAt ?? UNKNOWN_TIME;
  const cwd = given.cwd ?? given.workingDir ?? "";
  const { command = [], args = [], title, pid, exitCode, exitSignal, initialCols, initialRows } = given;
  return {
    ...GitStatus.catch({}).parse(given),
    ...{ id, sessionId: id, name: given.name ?? id, created, startedAt: created, cwd, workingDir: cwd },
    ...{ status: given.status ?? "running", pid, exitCode, exitSignal, initialCols, initialRows, title },
    command: typeof command === "string" ? [command, ...args] : command,
    cols: given.cols ?? initialCols ?? DEFAULT_COLS,
    rows: given.rows ?? initialRows ?? DEFAULT_ROWS,
    lastModified: given.lastModified ?? created,
    outputBytes: given.outputBytes ?? 0,
    viewers: 0,
  };
}

/**
 * The record of any server that implements the specification; missing and invalid fields are filled in. It is one of ours:
 * clients of an HQ take no list with any other record.
 */
export const AnySession = z.union([
  SessionRecord.extend(TerminalSize.shape),
  Specified.transform(complete).pipe(SessionRecord),
]);

export const listSessions = {
  ...endpoints.listSessions,
  reply: { status: 200, json: z.array(z.unknown()) },
} as const;
export const getSession = { ...endpoints.getSession, reply: { status: 200, json: AnySession } } as const;

/** Unreadable records are left out. Other work is done in between: a remote may answer with a million of them. */
export async function readSessions(
  given: readonly unknown[],
  signal?: AbortSignal,
): Promise<readonly SessionRecord[]> {
  const records: SessionRecord[] = [];
  let began = performance.now();
  for (const each of given) {
    const { data } = AnySession.safeParse(each);
    if (data !== undefined) records.push(data);
    if (performance.now() - began < LONGEST_TURN_MS) continue;
    await nextTurn(undefined, { signal });
    began = performance.now();
  }
  return records;
}
