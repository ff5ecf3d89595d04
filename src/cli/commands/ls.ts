import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { REPEATABLE } from "../command.ts";
import { query } from "../query.ts";
import { plainRecord, shortIds } from "../session-reference.ts";
import { duration, printable, table } from "../text.ts";

export const addLs = query({
  usage: "ls",
  summary: "list the sessions, newest first",
  json: "print the session objects as a JSON array",
  examples: [
    ["ttyhq ls", "the sessions of this machine"],
    ["ttyhq ls --filter status=running --filter name=build", "running ones whose name contains build"],
    ["ttyhq ls -q --filter status=exited | xargs -r ttyhq kill", "removes all that have ended"],
    ["ttyhq ls --format '{id} {cwd}'", "fields of the session objects"],
  ],
  flags: {
    quiet: ["-q, --quiet", "print ids only"],
    filter: [
      "-f, --filter <field=text>",
      "only sessions whose field contains the text: id, name, status, machine, branch, command",
      filterOf,
      REPEATABLE,
    ],
    format: ["--format <text>", "print each session as this text, with its fields in braces, as {id}"],
  },
  extend: (added) => added.aliases(["list", "ps"]),
  ask: async ({ client }, { filter = [] }) => {
    const sessions = newestFirst(await client.list());
    return sessions.filter((session) => filter.every((passes) => passes(session)));
  },
  toJson: (sessions) => sessions.map(plainRecord),
  text: (sessions, { quiet, format }, cli) => {
    if (quiet) return sessions.map(({ id }) => `${printable(id)}\n`).join("");
    if (format !== undefined) return sessions.map((session) => formatted(format, session)).join("");
    return sessionTable(sessions, { now: Date.now(), width: cli.stdout.columns });
  },
});

export function newestFirst(sessions: readonly SessionRecord[]): readonly SessionRecord[] {
  return sessions.toSorted((a, b) => Date.parse(b.created) - Date.parse(a.created));
}

type Filter = (session: SessionRecord) => boolean;

const FIELDS: Readonly<Record<string, (session: SessionRecord) => string>> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  // As in the JSON, or as shown.
  status: (session) => `${session.status}\n${statusOf(session)}`,
  machine: ({ source = "" }) => source,
  branch: ({ gitBranch = "" }) => gitBranch,
  command: ({ command }) => command.join(" "),
};

export function filterOf(text: string): Filter {
  const [, name = "", wanted = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  if (field === undefined) {
    throw new RangeError(`must be one of ${Object.keys(FIELDS).join(", ")}, "=" and a text`);
  }
  return (session) => field(session).includes(wanted);
}

/** Fields by their names in the JSON; a field that the session does not have is empty. */
export function formatted(format: string, session: SessionRecord): string {
  const fields = new Map<string, unknown>(Object.entries(plainRecord(session)));
  const line = format.replace(/\\t/g, "\t").replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = fields.get(name) ?? "";
    return printable(Array.isArray(value) ? value.join(" ") : String(value));
  });
  return `${line}\n`;
}

/**
 * Machines and branches have columns where there are any. `now` in milliseconds since the epoch; `width` in columns of
 * the terminal, where ids are short and names are cut. `undefined`: not a terminal, whole ids and every column.
 */
export function sessionTable(
  sessions: readonly SessionRecord[],
  { now, width }: { readonly now: number; readonly width: number | undefined },
): string {
  const ids = width === undefined ? undefined : shortIds(sessions);
  const age = ({ created }: SessionRecord): string => duration((now - Date.parse(created)) / 1000);
  const columns: readonly (readonly [string, (session: SessionRecord) => string, boolean?])[] = [
    ["ID", ({ id }) => ids?.get(id) ?? id],
    ["NAME", ({ name }) => name],
    ["STATUS", statusOf],
    ["SIZE", ({ cols, rows }) => `${cols}x${rows}`, width === undefined],
    ["AGE", age],
    ["VIEWERS", ({ viewers }) => String(viewers), width === undefined],
    ["MACHINE", ({ source = "" }) => source, sessions.some(({ source }) => source !== undefined)],
    ["BRANCH", branchOf, sessions.some(({ gitBranch }) => gitBranch !== undefined)],
    ["COMMAND", ({ command }) => command.join(" ")],
  ];
  const shown = columns.filter(([, , isShown = true]) => isShown);
  const rows = sessions.map((session) => shown.map(([, cell]) => cell(session)));
  const headings = shown.map(([heading]) => heading);
  return table(headings, rows, width, ["NAME", "MACHINE", "BRANCH", "COMMAND"]);
}

function branchOf({ gitBranch }: SessionRecord): string {
  return gitBranch === "" ? "(detached)" : (gitBranch ?? "");
}

function statusOf({ status, exitCode, exitSignal, exitReason, endRequested }: SessionRecord): string {
  if (status !== "exited") return status;
  if (endRequested) return "ended";
  if (exitReason === "host_lost") return "host lost";
  return `exited ${exitSignal ?? exitCode ?? ""}`.trimEnd();
}
