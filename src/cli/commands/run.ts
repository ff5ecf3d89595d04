import { parseHostConfig } from "../../config/config.ts";
import { ConfigError } from "../../config/config-error.ts";
import { machineLabel } from "../../config/options/value.ts";
import { absolutePath } from "../../config/sources/given.ts";
import { isOwnVariable } from "../../lib/os/own-variables.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { command, REPEATABLE, type Values } from "../command.ts";
import { configInput } from "../configuration.ts";
import type { Cli } from "../process-context.ts";
import { SERVER_FLAGS, type Server, serverOf } from "../server.ts";
import { plainRecord } from "../session-reference.ts";
import { detachKeysOf } from "../terminal/detach-keys.ts";
import { Terminal } from "../terminal/terminal.ts";
import { ATTACHMENT_FLAGS, attachTerminal } from "../terminal/terminal-attachment.ts";

const FLAGS = {
  name: ["-n, --name <name>", "name of the session"],
  cwd: ["--cwd <path>", "directory to run in; default: this one, with --url the server's choice"],
  machine: ["-m, --machine <name>", "at an HQ: machine to run on, in its own directory and environment"],
  machineLabel: [
    "--machine-label <key=value>",
    "at an HQ: on any machine with this label, and that with the fewest sessions",
    machineLabel,
    REPEATABLE,
  ],
  detach: ["-d, --detach", "only start it, and print its id"],
  json: ["--json", "with --detach: print the session object"],
  ...ATTACHMENT_FLAGS,
  ...SERVER_FLAGS,
} as const;
type RunFlags = Values<typeof FLAGS>;

export const addRun = command({
  usage: "run <command...>",
  args: { command: "program and arguments; after -- where they begin with a hyphen" },
  summary: "run a program in a session, shown on this terminal",
  description:
    "Run a program as if without ttyhq: on this terminal, in this directory, with this environment. At the same time it is a session that others can view and type into, and that continues when this terminal is closed. The exit code is that of the program, 0 when detached.",
  examples: [
    ["ttyhq run -- make -j8", "a build that you can leave, and view from elsewhere"],
    ["ttyhq run --name notes vim notes.txt", "an editor, shared"],
    ["ttyhq run --detach -- ./nightly.sh", "in the background; prints the id"],
    ["ttyhq run --machine build-1 -- make", "on a machine of the HQ"],
    ["ttyhq run --machine-label gpu=true -- ./train", "on any machine of the HQ with that label"],
  ],
  flags: FLAGS,
  extend: (added) => added.passThroughOptions(),
  run: (flags, words, cli) => run(words, flags, cli),
});

async function run(words: readonly string[], flags: RunFlags, cli: Cli): Promise<number> {
  if (flags.json && !flags.detach) {
    throw new ConfigError(["--json is for --detach alone: give that, too, or leave it out"]);
  }
  const server = await serverOf(flags, cli);
  const detachKeys = detachKeysOf(flags.detachKeys, cli.env);
  const { machine, machineLabel: labels } = flags;
  const isLocal = server.controlDir !== undefined && machine === undefined && labels === undefined;
  const remoteId = machine === undefined ? undefined : await remoteIdOf(machine, server);
  await ensureHost(server, flags, cli);
  const session = await server.client.create({
    command: [...words],
    name: flags.name,
    // Other machines get neither directory nor environment.
    cwd: isLocal ? absolutePath(flags.cwd ?? ".", { kind: "flag" }, cli) : flags.cwd,
    env: isLocal ? sessionEnv(cli.env) : undefined,
    remoteId,
    labels: labels && Object.fromEntries(labels),
    ...new Terminal(cli).size,
  });
  if (flags.detach) {
    cli.stdout.write(
      flags.json ? `${JSON.stringify(plainRecord(session), undefined, 2)}\n` : `${session.id}\n`,
    );
    return 0;
  }
  return await attachTerminal({
    ...{ cli, server, session, command: "run", detachKeys },
    ...{ isReadOnly: false, isQuiet: flags.quiet ?? false },
  });
}

async function remoteIdOf(machine: string, { client }: Server): Promise<string> {
  const remotes = await client.call(endpoints.listRemotes);
  const remote = remotes.find(({ name }) => name === machine);
  if (remote !== undefined) return remote.id;
  const names = remotes.map(({ name }) => name).join(", ");
  const message = `no machine ${JSON.stringify(machine)}; ${names === "" ? "none has joined" : `there are ${names}`}`;
  throw new ServiceError("remote_not_found", message);
}

async function ensureHost(server: Server, { config }: RunFlags, cli: Cli): Promise<void> {
  const { controlDir } = server;
  if (controlDir === undefined || (await server.answers())) return;
  await cli.ensureHost(parseHostConfig(await configInput({ controlDir, config }, cli)));
}

/** Variables of the user's terminal, which is not that of the session. */
const OF_THE_TERMINAL = new Set([
  "TERM",
  "TERMCAP",
  "TERMINFO",
  "TERM_PROGRAM",
  "TERM_PROGRAM_VERSION",
  "TERM_SESSION_ID",
  "COLORTERM",
  "COLUMNS",
  "LINES",
  "TMUX",
  "TMUX_PANE",
  "STY",
  "WINDOW",
  "WINDOWID",
  "VTE_VERSION",
  "KITTY_WINDOW_ID",
  "SSH_TTY",
  "SHLVL",
  "_",
]);
/** For ttyhq commands in the session. */
const TO_FIND_US = new Set(["TTYHQ_CONTROL_DIR", "TTYHQ_URL", "TTYHQ_DETACH_KEYS"]);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The caller's environment without variables of the terminal and our secrets. */
export function sessionEnv(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !NAME.test(name) || OF_THE_TERMINAL.has(name)) continue;
    if (!isOwnVariable(name) || TO_FIND_US.has(name)) kept[name] = value;
  }
  return kept;
}
