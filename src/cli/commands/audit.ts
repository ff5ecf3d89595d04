import { resolve } from "node:path";
import { keptFiles } from "../../audit/file/log-lines.ts";
import { readSealedHead, type SealFiles } from "../../audit/file/sealed-head.ts";
import { type Verification, verifyLog } from "../../audit/file/verifier.ts";
import { parseAuditLog } from "../../config/config.ts";
import { spanMs } from "../../config/options/span.ts";
import { choice, integer } from "../../config/options/value.ts";
import type { Client } from "../../protocol/client/client.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_AUDIT_PAGE } from "../../protocol/limits.ts";
import { type AuditRecord, AuditResult } from "../../protocol/schemas/audit.ts";
import { auditFiles } from "../../sessions/storage/control-dir.ts";
import { command, ExitCode, group, jsonText, type Values } from "../command.ts";
import { configInput } from "../configuration.ts";
import type { Cli } from "../process-context.ts";
import { query } from "../query.ts";
import { table } from "../text.ts";

const EXAMPLES = [
  ["ttyhq audit list --since 1d --user ada", "what a user did lately, newest first"],
  ["ttyhq audit verify", "the audit log of the local server, its beginning and end included"],
  ["ttyhq audit verify backup/audit.log*", "copies: whether the lines in them are an unbroken chain"],
] as const;

const addVerify = command({
  usage: "verify [file...]",
  args: { file: "files of one audit log, in any order" },
  summary: "verify that no line of the audit log was changed or removed",
  description:
    "Verify that no line of the audit log was changed, moved or removed. Without FILE: the files of the local server, against its sealed head. With FILE: only the chain in these files; with --control-dir against the sealed head there as well. On a problem the exit code is 1, with the first bad line.",
  examples: EXAMPLES,
  flags: {
    controlDir: ["--control-dir <path>", "control directory of the server (~/.ttyhq)"],
    auditLog: ["--audit-log <path>", "audit log of the server (audit.log in the control directory)"],
    config: ["--config <file>", "configuration file of the server, for both"],
    json: [
      "--json",
      'print {"files", "first", "last", "sealed", "unchained", "torn", "problem": {"file", "line", "reason"}}',
    ],
  },
  run: async ({ json, ...flags }, paths, cli) => {
    const verification = await verified(paths, flags, cli);
    cli.stdout.write(json ? jsonText(verification) : sentenceOf(verification));
    return verification.problem === undefined ? ExitCode.Ok : ExitCode.Failed;
  },
});

async function verified(
  paths: readonly string[],
  flags: { readonly controlDir: string | undefined },
  cli: Cli,
): Promise<Verification> {
  const { controlDir, auditLog } = parseAuditLog(await configInput(flags, cli));
  const files = auditFiles(controlDir);
  const seal = { ...files, log: auditLog ?? files.log };
  const named = paths.map((path) => resolve(cli.cwd, path));
  if (named.length > 0 && flags.controlDir === undefined) {
    return await verifyLog(named, { sealed: undefined, isWhole: false });
  }
  const first = await verifiedAgainstSeal(named, seal);
  // A concurrent rotation looks like a change.
  return first.problem === undefined ? first : await verifiedAgainstSeal(named, seal);
}

async function verifiedAgainstSeal(named: readonly string[], seal: SealFiles): Promise<Verification> {
  const { sealed, reason } = await sealOf(seal);
  const files = named.length > 0 ? named : await keptFiles(seal.log);
  if (files.length === 0 && sealed === undefined) {
    const message = `no audit log at ${seal.log}: say where with --control-dir or --audit-log`;
    throw new ServiceError("not_found", message);
  }
  const verification = await verifyLog(files, { sealed, isWhole: named.length === 0 });
  const isUnsealed = sealed === undefined && verification.first !== undefined;
  if (!isUnsealed || verification.problem !== undefined) return verification;
  return { ...verification, problem: { file: seal.head, line: 1, reason } };
}

/** A missing or forged head is a finding, not an error. */
async function sealOf(files: SealFiles) {
  const reason = "there is no sealed head: nobody can tell whether lines at the end are missing";
  try {
    return { sealed: await readSealedHead(files), reason };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { sealed: undefined, reason: error.message };
  }
}

function sentenceOf({ files, first, last, sealed, unchained, torn, problem }: Verification): string {
  if (problem !== undefined) return `${problem.file}:${problem.line}: ${problem.reason}\n`;
  const lines = first === undefined ? "no line of a chain" : `sequences ${first} to ${last} are unbroken`;
  const notes = [
    sealed === undefined ? "the end was not checked against a sealed head" : `sealed up to ${sealed}`,
    ...(unchained > 0 ? [`${unchained} lines of older versions are not in the chain`] : []),
    ...(torn > 0 ? [`${torn} bytes at the end are no whole line`] : []),
  ];
  return `${lines} in ${files.length} ${files.length === 1 ? "file" : "files"}; ${notes.join("; ")}\n`;
}

const FILTERS = {
  since: ["--since <time>", "entries not before a date, or a time ago such as 1h or 7d", timeOf],
  until: ["--until <time>", "entries before a date, or a time ago", timeOf],
  user: ["--user <name>", "entries of this user"],
  action: ["--action <action>", "entries with this action, such as login or session.create"],
  session: ["--session <id>", "entries about this session"],
  result: [
    "--result <result>",
    "entries with this result: ok, refused or failed",
    choice(...AuditResult.options),
  ],
  limit: ["--limit <number>", "maximum number of entries", integer(1, 999_999_999), "100"],
} as const;

const addList = query({
  usage: "list",
  summary: "list entries of a server's audit log, newest first",
  description: "List entries of a server's audit log, newest first. For auditors and admins.",
  json: "print them as a JSON array",
  who: "server",
  flags: FILTERS,
  ask: ({ client }, filters) => entriesOf(client, filters),
  text: entryTable,
});

export const addAudit = group("audit", { summary: "read and check the audit log", examples: EXAMPLES }, [
  addList,
  addVerify,
]);

async function entriesOf(
  client: Client,
  { since, until, user, action, session, result, limit }: Values<typeof FILTERS>,
): Promise<readonly AuditRecord[]> {
  const entries: AuditRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = Math.min(limit - entries.length, MAX_AUDIT_PAGE);
    const query = { since, until, user, action, session, result, cursor, limit: page };
    const answer = await client.call(endpoints.readAudit, { query });
    entries.push(...answer.entries);
    cursor = answer.next;
  } while (cursor !== undefined && entries.length < limit);
  return entries;
}

function entryTable(entries: readonly AuditRecord[], _: unknown, cli: Cli): string {
  const isShared = entries.some(({ hq }) => hq !== undefined);
  const rows = entries.map(
    ({ time, user = "", action, result, session = "", address = "", hq = "", details }) => [
      ...[time, user, action, result, session, address],
      ...(isShared ? [hq] : []),
      details === undefined ? "" : JSON.stringify(details),
    ],
  );
  const last = isShared ? ["HQ", "DETAILS"] : ["DETAILS"];
  const headings = ["TIME", "USER", "ACTION", "RESULT", "SESSION", "ADDRESS", ...last];
  return table(headings, rows, cli.stdout.columns);
}

function timeOf(text: string): string {
  const agoMs = spanMs(text);
  const time = new Date(agoMs === undefined ? text : Date.now() - agoMs);
  if (Number.isNaN(time.getTime())) throw new RangeError("must be a date, or a time ago such as 1h or 7d");
  return time.toISOString();
}
