import { setTimeout as pause } from "node:timers/promises";
import { span } from "../../../config/options/span.ts";
import { actOnEach } from "../../../protocol/client/act-on-each.ts";
import type { Client } from "../../../protocol/client/client.ts";
import { isFinal } from "../../../protocol/client/link.ts";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { errorMessage, ServiceError, unless } from "../../../protocol/errors.ts";
import { LOCAL, type SetCordon } from "../../../protocol/schemas/remote.ts";
import type { SessionRecord } from "../../../protocol/schemas/session.ts";
import { type AddCommand, command, ExitCode, jsonText, type Values, writeMessage } from "../../command.ts";
import type { Cli } from "../../process-context.ts";
import { query } from "../../query.ts";
import { hostOf, SERVER_FLAGS, serverOf } from "../../server.ts";
import { plainRecord } from "../../session-reference.ts";
import { duration, printable } from "../../text.ts";
import { sessionTable } from "../ls.ts";

const CORDON = {
  args: { machine: "at an HQ: name of the machine; without it, the server itself" },
  json: 'print {"machine", "cordoned"}',
  who: "server",
} as const;
const sessionsOfRemote = {
  ...endpoints.listSessions,
  path: "/api/remotes/:name/proxy/api/sessions",
} as const;
const UNTIL_RESTART = ["--until-restart", "the server forgets it when it restarts"] as const;
/** At most two calls, of the 100 per minute that a user may make by default. */
const POLL_MS = 1_500;

export const addCordon = query({
  ...CORDON,
  usage: "cordon [machine]",
  summary: "let a machine start no new sessions",
  description:
    "Let a machine start no new sessions. Running ones go on. It stays so, also after a restart, until `ttyhq uncordon`.",
  examples: [
    ["ttyhq cordon", "the server of this machine"],
    ["ttyhq cordon --url https://hq.example.com build-1", "a machine of that HQ"],
  ],
  flags: { untilRestart: UNTIL_RESTART },
  ask: ({ client }, { untilRestart }, [machine]) => cordon(client, machine, { cordoned: true, untilRestart }),
  text: ({ machine }) => `${printable(machine)} is cordoned\n`,
});

export const addUncordon = query({
  ...CORDON,
  usage: "uncordon [machine]",
  summary: "let a machine start new sessions again",
  examples: [["ttyhq uncordon build-1", "at the HQ"]],
  ask: ({ client }, _, [machine]) => cordon(client, machine, { cordoned: false }),
  text: ({ machine }) => `${printable(machine)} starts new sessions\n`,
});

const DRAIN_FLAGS = {
  wait: ["--wait", "wait until its running sessions have ended"],
  deadline: [
    "--deadline <time>",
    "how long --wait, which it implies, waits, such as 90s or 2h",
    span("0s", "365d", "2h"),
    "1h",
  ],
  end: ["--end", "end the sessions that still run then"],
  untilRestart: UNTIL_RESTART,
  sessionHost: ["--session-host", "wait for the session host of the control directory, and cordon nothing"],
  json: ["--json", 'print {"machine", "running", "ended"}, with session objects'],
  ...SERVER_FLAGS,
} as const;
type DrainFlags = Values<typeof DRAIN_FLAGS>;

export const addDrain: AddCommand = command({
  usage: "drain [machine]",
  args: CORDON.args,
  summary: "cordon a machine, and wait for its sessions to end",
  description:
    "Cordon a machine and list the sessions that still run on it; with --wait, after they had until the deadline to end. The exit code is 1 if any still runs. Nothing is ended without --end.",
  examples: [
    ["ttyhq drain --wait --deadline 2h build-1", "at the HQ, before maintenance of build-1"],
    ["ttyhq drain --wait --deadline 10m --end", "this machine; ends what still runs after 10 minutes"],
  ],
  flags: DRAIN_FLAGS,
  extend: (added) => added.options.find(({ long }) => long === "--deadline")?.implies({ wait: true }),
  run: (flags, [machine], cli) => drain(flags, machine, cli),
});

async function drain(flags: DrainFlags, given: string | undefined, cli: Cli): Promise<number> {
  const { wait = false, deadline, end = false, untilRestart, sessionHost, json } = flags;
  if (sessionHost && given !== undefined) {
    const message = `--session-host is for this machine alone: leave ${given} out`;
    throw new ServiceError("invalid_request", message);
  }
  const server = await serverOf(flags, cli, "server");
  const client = sessionHost ? hostOf(server) : server.client;
  const cordoned = sessionHost ? undefined : await cordon(client, given, { cordoned: true, untilRestart });
  const machine = cordoned?.machine;
  const running = await remaining(client, given ?? LOCAL, wait ? deadline : 0, sessionHost ?? false);
  const { results, failures } = await actOnEach(end ? running : [], (session) => endOne(session, client));
  const ended = results.filter((session) => session !== undefined);
  const left = end ? failures.map(({ target }) => target) : running;
  const count = ended.length === 0 ? "" : `, ${ended.length} ended`;
  if (json) {
    cli.stdout.write(jsonText({ machine, running: left.map(plainRecord), ended: ended.map(plainRecord) }));
  } else if (left.length > 0) {
    cli.stdout.write(sessionTable(left, { now: Date.now(), width: cli.stdout.columns }));
  } else {
    cli.stdout.write(`${printable(machine ?? "the session host")} runs no sessions${count}\n`);
  }
  if (left.length === 0) return ExitCode.Ok;
  const after = wait ? ` after ${duration(deadline / 1000)}` : "";
  const still = left.length === 1 ? "1 session still runs" : `${left.length} sessions still run`;
  const reasons = new Set(failures.map(({ error }) => errorMessage(error)));
  const why = end ? [...reasons].join("; ") : "wait longer, or give --end to end them";
  writeMessage(cli.stderr, `${still}${after}${count}; ${why}`);
  return ExitCode.Failed;
}

/** Undefined for a session that has ended and been removed since it was listed. */
async function endOne(session: SessionRecord, client: Client): Promise<SessionRecord | undefined> {
  return (await client.end(session.id).catch(unless("session_not_found"))) && session;
}

async function cordon(client: Client, name: string | undefined, body: SetCordon) {
  if (name === undefined) {
    const { machine, cordoned } = await client.call(endpoints.cordonServer, { body });
    return { machine, cordoned };
  }
  const { remote } = await client.call(endpoints.cordonRemote, { params: { name }, body });
  return { machine: remote.name, cordoned: remote.cordoned ?? false };
}

/**
 * The sessions of a machine that run at the deadline. Ignores temporary errors of a server, which may restart, and the
 * absence of a machine, which may be back before.
 */
async function remaining(
  client: Client,
  name: string,
  deadlineMs: number,
  isHost: boolean,
): Promise<readonly SessionRecord[]> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const restMs = end - performance.now();
    try {
      const running = await runningOn(client, name);
      if (running.length === 0 || restMs <= 0) return running;
    } catch (error) {
      const isTemporary =
        error instanceof ServiceError && (!isFinal(error) || error.code === "remote_not_found");
      if (restMs <= 0 || isHost || !isTemporary) throw error;
    }
    await pause(Math.min(POLL_MS, Math.max(0, restMs)));
  }
}

/** Throws `remote_not_found` for a machine that is not at the HQ. */
async function runningOn(client: Client, name: string): Promise<readonly SessionRecord[]> {
  const isRunning = ({ status }: SessionRecord): boolean => status !== "exited";
  const all = await client.list();
  const listed = all.filter(({ source = LOCAL }) => source === name).filter(isRunning);
  // An HQ does not list the sessions of a machine that it cannot reach.
  if (listed.length > 0 || name === LOCAL) return listed;
  // Nor does it check what the machine itself answers: an id may be that of a session on another one.
  const known = new Set(all.map(({ id }) => id));
  const answered = await client.call(sessionsOfRemote, { params: { name } });
  return answered.filter((session) => isRunning(session) && !known.has(session.id));
}
