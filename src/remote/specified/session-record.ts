import { z } from "zod";
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
  command: z
    .union([z.array(z.string()), z.string()])
    .optional()
    .catch(undefined),
  args: z.array(z.string()).optional().catch(undefined),
});

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

/** The record of any server that implements the specification; missing and invalid fields are filled in. */
export const AnySession = z.union([SessionRecord.extend(TerminalSize.shape), Specified.transform(complete)]);

/** Unreadable records are left out. */
export const AnySessions = z
  .array(z.unknown())
  .transform((records) => records.flatMap((record) => AnySession.safeParse(record).data ?? []));
