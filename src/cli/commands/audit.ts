import { resolve } from "node:path";
import type { Command } from "commander";
import { keptFiles } from "../../audit/file/log-lines.ts";
import { readSealedHead, type SealFiles } from "../../audit/file/sealed-head.ts";
import { type Verification, verifyLog } from "../../audit/file/verifier.ts";
import { parseAuditLog } from "../../config/config.ts";
import { spanMs } from "../../config/options/span.ts";
import { integer } from "../../config/options/value.ts";
import type { Client } from "../../protocol/client/client.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_AUDIT_PAGE } from "../../protocol/limits.ts";
import type { AuditRecord } from "../../protocol/schemas/audit.ts";
import { auditFiles } from "../../sessions/storage/control-dir.ts";
import { addCommand, addGroup, ExitCode, type Finish, jsonText } from "../command.ts";
import { configInput } from "../configuration.ts";
import type { Cli } from "../process-context.ts";
import { addQuery } from "../query.ts";
import { printable, table } from "../text.ts";

const EXAMPLES = [
  ["ttyhq audit list --since 1d --user ada", "what a user did lately, newest first"],
  ["ttyhq audit verify", "the audit log of the local server, its beginning and end included"],
  ["ttyhq audit verify backup/audit.log*", "copies: whether the lines in them are an unbroken chain"],
] as const;

export function addAudit(program: Command, cli: Cli, finish: Finish): void {
  const audit = addGroup(program, "audit", { summary: "read and check the audit log", examples: EXAMPLES });
  addList(audit, cli);
  addCommand<VerifyFlags>(audit, {
    usage: "verify",
    summary: "verify that no line of the audit log was changed or removed",
    description:
      "Verify that no line of the audit log was changed, moved or removed. Without FILE: the files of the local server, against its sealed head. With FILE: only the chain in these files; with --control-dir against the sealed head there as well. On a problem the exit code is 1, with the first bad line.",
    examples: EXAMPLES,
    options: (command) =>
      command
        .argument("[file...]", "files of one audit log, in any order")
        .option("--control-dir <path>", "control directory of the server (~/.ttyhq)")
        .option("--audit-log <path>", "audit log of the server (audit.log in the control directory)")
        .option("--config <file>", "configuration file of the server, for both")
        .option(
          "--json",
          'print {"files", "first", "last", "sealed", "unchained", "torn", "problem": {"file", "line", "reason"}}',
        ),
    run: async (flags, paths) => {
      const verification = await verified(paths, flags, cli);
      cli.stdout.write(flags.json ? jsonText(verification) : sentenceOf(verification));
      if (verification.problem !== undefined) finish(ExitCode.Failed);
    },
  });
}

type VerifyFlags = { readonly controlDir?: string; readonly json?: true };

async function verified(paths: readonly string[], flags: VerifyFlags, cli: Cli): Promise<Verification> {
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
    throw new ServiceError(
      "not_found",
      `no audit log at ${seal.log}: say where with --control-dir or --audit-log`,
    );
  }
  const verification = await verifyLog(files, { sealed, isWhole: named.length === 0 });
  const isUnsealed = sealed === undefined && verification.first !== undefined;
  if (!isUnsealed || verification.problem !== undefined) return verification;
  return { ...verification, problem: { file: seal.head, line: 1, reason } };
}

/** A missing or forged head is a finding, not an error. */
async function sealOf(files: SealFiles): Promise<SealOf> {
  try {
    const sealed = await readSealedHead(files);
    return {
      sealed,
      reason: "there is no sealed head: nobody can tell whether lines at the end are missing",
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { sealed: undefined, reason: error.message };
  }
}

type SealOf = { readonly sealed: Awaited<ReturnType<typeof readSealedHead>>; readonly reason: string };

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

type Filters = {
  readonly since?: string;
  readonly until?: string;
  readonly user?: string;
  readonly action?: string;
  readonly session?: string;
};
function addList(audit: Command, cli: Cli): void {
  addQuery(audit, cli, {
    usage: "list",
    summary: "list entries of a server's audit log, newest first",
    description: "List entries of a server's audit log, newest first. For auditors and admins.",
    json: "print them as a JSON array",
    who: "server",
    options: (command) =>
      command
        .option("--since <time>", "entries not before a date, or a time ago such as 1h or 7d", timeOf)
        .option("--until <time>", "entries before a date, or a time ago", timeOf)
        .option("--user <name>", "entries of this user")
        .option("--action <action>", "entries with this action, such as login or session.create")
        .option("--session <id>", "entries about this session")
        .option("--limit <number>", "maximum number of entries", integer(1, 999_999_999), 100),
    ask: ({ client }, filters: Filters & { readonly limit: number }) =>
      entriesOf(client, filters, filters.limit),
    text: (entries) => entryTable(entries, cli),
  });
}

async function entriesOf(
  client: Client,
  { since, until, user, action, session }: Filters,
  limit: number,
): Promise<readonly AuditRecord[]> {
  const entries: AuditRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = Math.min(limit - entries.length, MAX_AUDIT_PAGE);
    const query = { since, until, user, action, session, cursor, limit: page };
    const answer = await client.call(endpoints.readAudit, { query });
    entries.push(...answer.entries);
    cursor = answer.next;
  } while (cursor !== undefined && entries.length < limit);
  return entries;
}

function entryTable(entries: readonly AuditRecord[], cli: Cli): string {
  const rows = entries.map(({ time, user = "", action, result, session = "", address = "", details }) => [
    ...[time, printable(user), action, result, printable(session), address],
    details === undefined ? "" : printable(JSON.stringify(details)),
  ]);
  return table(
    ["TIME", "USER", "ACTION", "RESULT", "SESSION", "ADDRESS", "DETAILS"],
    rows,
    cli.stdout.columns,
  );
}

/** As ISO 8601. */
function timeOf(text: string): string {
  const agoMs = spanMs(text.toLowerCase());
  const ms = agoMs === undefined ? Date.parse(text) : Date.now() - agoMs;
  if (Number.isNaN(ms)) throw new RangeError("must be a date, or a time ago such as 1h or 7d");
  return new Date(ms).toISOString();
}
