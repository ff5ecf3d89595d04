import type { Command } from "commander";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { Cli } from "../process-context.ts";
import { addQuery } from "../query.ts";
import { duration, printable, table } from "../text.ts";

export function addLs(program: Command, cli: Cli): void {
  addQuery(program, cli, {
    usage: "ls",
    summary: "list the sessions, newest first",
    json: "print the session objects as a JSON array",
    examples: [
      ["ttyhq ls", "the sessions of this machine"],
      [
        `ttyhq ls --json | jq -r '.[] | select(.status == "running").id'`,
        "ids of running sessions, for a script",
      ],
    ],
    options: (command) => command.alias("list"),
    ask: async ({ client }) => newestFirst(await client.list()),
    text: (sessions) => sessionTable(sessions, { now: Date.now(), width: cli.stdout.columns }),
  });
}

export function newestFirst(sessions: readonly SessionRecord[]): readonly SessionRecord[] {
  return sessions.toSorted((a, b) => Date.parse(b.created) - Date.parse(a.created));
}

/** `now` in milliseconds since the epoch; `width` in columns, `undefined`: unlimited. */
export function sessionTable(
  sessions: readonly SessionRecord[],
  { now, width }: { readonly now: number; readonly width: number | undefined },
): string {
  const haveBranches = sessions.some(({ gitBranch }) => gitBranch !== undefined);
  const branch = (cell: string): readonly string[] => (haveBranches ? [cell] : []);
  const headings = ["ID", "NAME", "STATUS", "SIZE", "AGE", "VIEWERS", ...branch("BRANCH"), "COMMAND"];
  const rows = sessions.map((session) => [
    session.id,
    printable(session.name),
    statusOf(session),
    `${session.cols}x${session.rows}`,
    duration((now - Date.parse(session.created)) / 1000),
    String(session.viewers),
    ...branch(branchOf(session)),
    printable(session.command.join(" ")),
  ]);
  return table(headings, rows, width);
}

/** Empty outside a repository. */
function branchOf({ gitBranch }: SessionRecord): string {
  return gitBranch === "" ? "(detached)" : printable(gitBranch ?? "");
}

function statusOf({ status, exitCode, exitSignal, exitReason }: SessionRecord): string {
  if (status !== "exited") return status;
  if (exitReason === "host_lost") return "host lost";
  return `exited ${exitSignal ?? exitCode ?? ""}`.trimEnd();
}
