import type { Command } from "commander";
import { parseHostConfig } from "../../config/config.ts";
import type { CreateSessionBody, SessionRecord } from "../../protocol/schemas/session.ts";
import { configInput } from "../configuration.ts";
import { examples } from "../examples.ts";
import type { Finish } from "../exit-code.ts";
import type { Cli } from "../process-context.ts";
import { addServerOptions, type Server, type ServerFlags, serverOf } from "../server.ts";
import { sessionEnv } from "../session-env.ts";
import { addDetachOption, type DetachFlags, detachKeysOf } from "../terminal/detach-keys.ts";
import { exitNotice } from "../terminal/exit-notice.ts";
import { Terminal } from "../terminal/terminal.ts";
import { attachTerminal } from "../terminal/terminal-attachment.ts";

type RunFlags = ServerFlags &
  DetachFlags & {
    readonly name?: string;
    readonly cwd?: string;
    readonly detach?: true;
    readonly json?: true;
  };

export function addRun(program: Command, cli: Cli, finish: Finish): void {
  const command = program
    .command("run")
    .summary("run a program in a session, shown on this terminal")
    .description(
      "Run a program as if without ttyhq: on this terminal, in this directory, with this environment. At the same time it is a session, which can be seen and typed into from elsewhere, and which goes on when this terminal is closed. Ends with the program's exit code, 0 when detached.",
    )
    .argument("<command...>", "program and arguments; after -- where they begin with a hyphen")
    .passThroughOptions()
    .option("-n, --name <name>", "name of the session")
    .option("--cwd <path>", "directory to run in (this one; with --url the server's choice)")
    .option("-d, --detach", "only start it, and print its id")
    .option("--json", "with --detach: print the session object");
  addServerOptions(addDetachOption(command))
    .action(async (words: readonly string[], flags: RunFlags) => finish(await run(words, flags, cli)))
    .addHelpText(
      "after",
      examples(
        ["ttyhq run -- make -j8", "a build that you can leave alone and look at from the train"],
        ["ttyhq run --name notes vim notes.txt", "an editor, shared"],
        ["ttyhq run --detach -- ./nightly.sh", "in the background; prints the id"],
      ),
    );
}

async function run(words: readonly string[], flags: RunFlags, cli: Cli): Promise<number> {
  const server = serverOf(flags, cli);
  const terminal = new Terminal(cli);
  const detachKeys = detachKeysOf(flags, cli.env);
  const session = await create(server, requestOf(words, flags, { cli, terminal, server }), { flags, cli });
  if (flags.detach) {
    cli.stdout.write(flags.json ? `${JSON.stringify(session, undefined, 2)}\n` : `${session.id}\n`);
    return 0;
  }
  using socket = server.connect("run");
  const end = await attachTerminal({
    socket,
    client: server.client,
    terminal,
    sessionId: session.id,
    from: "start",
    isReadOnly: false,
    detachKeys,
    inputEnd: "eof",
  });
  return exitNotice(end, session, cli.stderr);
}

async function create(
  server: Server,
  request: CreateSessionBody,
  { flags: { config }, cli }: { readonly flags: RunFlags; readonly cli: Cli },
): Promise<SessionRecord> {
  const { controlDir } = server;
  if (controlDir !== undefined && !(await server.answers())) {
    const input = await configInput({ controlDir, config }, cli);
    await cli.ensureHost(parseHostConfig(input));
  }
  return await server.client.create(request);
}

/** Directory and environment of this machine mean nothing on another. */
function requestOf(
  words: readonly string[],
  flags: RunFlags,
  from: { readonly cli: Cli; readonly terminal: Terminal; readonly server: Server },
): CreateSessionBody {
  const { cli, terminal, server } = from;
  const isLocal = server.controlDir !== undefined;
  const cwd = flags.cwd ?? (isLocal ? cli.cwd : undefined);
  return {
    command: [...words],
    ...terminal.size,
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(isLocal ? { env: sessionEnv(cli.env) } : {}),
  };
}
