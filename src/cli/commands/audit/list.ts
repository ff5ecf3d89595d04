import { type Command, InvalidArgumentError } from "commander";
import { spanMs } from "../../../config/options/span.ts";
import type { Client } from "../../../protocol/client/client.ts";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { MAX_AUDIT_PAGE } from "../../../protocol/limits.ts";
import type { AuditRecord } from "../../../protocol/schemas/audit.ts";
import { printable } from "../../printable.ts";
import type { Cli } from "../../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../../server.ts";
import { table } from "../../table.ts";

type Filters = {
  readonly since?: string;
  readonly until?: string;
  readonly user?: string;
  readonly action?: string;
  readonly session?: string;
};
type ListFlags = ServerFlags & Filters & { readonly limit: number; readonly json?: true };

export function addAuditList(group: Command, cli: Cli): void {
  const list = group
    .command("list")
    .summary("list entries of a server's audit log, newest first")
    .description("List entries of a server's audit log, newest first. For auditors and admins.")
    .option("--since <time>", "not before: a date, or a time ago such as 1h or 7d", timeOf)
    .option("--until <time>", "before: a date, or a time ago", timeOf)
    .option("--user <name>", "of this user")
    .option("--action <action>", "of this action, such as login or session.create")
    .option("--session <id>", "about this session")
    .option("--limit <number>", "at most so many", countOf, 100)
    .option("--json", "print them as a JSON array")
    .allowExcessArguments(false)
    .action(async ({ limit, json, ...flags }: ListFlags) => {
      const { client } = serverOf(flags, cli, "server");
      const entries = await entriesOf(client, flags, limit);
      const text = json ? `${JSON.stringify(entries, undefined, 2)}\n` : entryTable(entries, cli);
      cli.stdout.write(text);
    });
  addServerOptions(list);
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
  if (Number.isNaN(ms)) throw new InvalidArgumentError("It must be a date, or a time ago such as 1h or 7d.");
  return new Date(ms).toISOString();
}

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new InvalidArgumentError("It must be a whole number from 1.");
}
