// The command line: its commands and their exit codes.
import { setTimeout as pause } from "node:timers/promises";
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/config-error.ts";
import { isTimeout } from "../lib/async/deadline.ts";
import { isErrno } from "../lib/fs/atomic-file.ts";
import { nearest } from "../lib/nearest.ts";
import { ServiceError } from "../protocol/errors.ts";
import { type AddCommand, ExitCode, type Finish, prefixOf, writeMessage } from "./command.ts";
import type { Cli, OutputStream } from "./process-context.ts";

type LoadCommand = () => Promise<AddCommand>;

const FLUSH_TIMEOUT_MS = 2_000;
const SERVICES: ReadonlySet<string> = new Set(["serve", "session-host"]);
const VERSION_FLAGS: ReadonlySet<string> = new Set(["-V", "--version"]);
const OWN_FLAGS: ReadonlySet<string> = new Set([...VERSION_FLAGS, "-h", "--help"]);

/** In the order of the help. Each is loaded when it is asked for: most of a short command's time is loading code. */
const LOADERS = new Map<string, LoadCommand>(
  Object.entries({
    serve: async () => (await import("./commands/serve.ts")).addServe,
    run: async () => (await import("./commands/run.ts")).addRun,
    attach: async () => (await import("./commands/attach.ts")).addAttach,
    ls: async () => (await import("./commands/ls.ts")).addLs,
    logs: async () => (await import("./commands/session/logs.ts")).addLogs,
    rename: async () => (await import("./commands/session/rename.ts")).addRename,
    share: async () => (await import("./commands/session/share.ts")).addShare,
    kill: async () => (await import("./commands/kill.ts")).addKill,
    play: async () => (await import("./commands/play.ts")).addPlay,
    machines: async () => (await import("./commands/machine/machines.ts")).addMachines,
    cordon: async () => (await import("./commands/machine/cordon.ts")).addCordon,
    uncordon: async () => (await import("./commands/machine/cordon.ts")).addUncordon,
    drain: async () => (await import("./commands/machine/cordon.ts")).addDrain,
    upgrade: async () => (await import("./commands/machine/upgrade.ts")).addUpgrade,
    status: async () => (await import("./commands/status.ts")).addStatus,
    follow: async () => (await import("./commands/follow/follow.ts")).addFollow,
    unfollow: async () => (await import("./commands/follow/follow.ts")).addUnfollow,
    git: async () => (await import("./commands/follow/follow.ts")).addGit,
    health: async () => (await import("./commands/health.ts")).addHealth,
    login: async () => (await import("./commands/login.ts")).addLogin,
    "login-link": async () => (await import("./commands/login-link.ts")).addLoginLink,
    "enrolment-code": async () => (await import("./commands/login-link.ts")).addEnrolmentCode,
    token: async () => (await import("./commands/tokens.ts")).addToken,
    audit: async () => (await import("./commands/audit.ts")).addAudit,
    up: async () => (await import("./cluster/up.ts")).addUp,
    "join-token": async () => (await import("./commands/tokens.ts")).addJoinToken,
    "remote-key": async () => (await import("./commands/tokens.ts")).addRemoteKey,
    "session-host": async () => (await import("./commands/session-host.ts")).addSessionHost,
    config: async () => (await import("./commands/config.ts")).addConfig,
    completion: async () => (await import("./commands/completion.ts")).addCompletion,
    service: async () => (await import("./systemd/command.ts")).addSystemd,
  }),
);
const ALL = [...LOADERS.values()];

export async function runCli(started: Cli): Promise<number> {
  const command = commandOf(started.argv);
  // `ttyhq ls | head` closes the pipe early, and a terminal may be closed.
  for (const stream of [started.stdout, started.stderr]) stream.on("error", () => undefined);
  if (!SERVICES.has(command)) {
    const exitCode = await runCommand(command, started);
    await flushed(started.stdout);
    const failure = failureOf(started.stdout);
    return failure === undefined ? exitCode : report(failure, started.stderr);
  }
  const { serviceInLogFormat } = await import("./stderr-format.ts");
  const exitCode = await runCommand(command, await serviceInLogFormat(started));
  // A reader that has stopped reading does not keep a service from stopping.
  await Promise.race([flushed(started.stdout), pause(FLUSH_TIMEOUT_MS)]);
  return exitCode;
}

/** Resolves when the reader of a full pipe has made room for the rest, or has left. */
async function flushed(stdout: OutputStream): Promise<void> {
  if (stdout.writableLength === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  stdout.write("", () => resolve());
  await promise;
}

/** Why output is lost, as on a full disk; `undefined` if only nobody reads it: a pipe that was left, a closed terminal. */
function failureOf({ errored, isTTY = false }: OutputStream): Error | undefined {
  const isLeft = isTTY || isErrno(errored, "EPIPE", "ECONNRESET");
  return errored === null || isLeft ? undefined : errored;
}

async function runCommand(command: string, cli: Cli): Promise<number> {
  let exitCode: number = ExitCode.Ok;
  try {
    const finish: Finish = (code) => {
      exitCode = code;
    };
    const program = await createProgram(cli, finish, loadersFor(command));
    if (cli.argv.length === 0) {
      cli.stderr.write(program.helpInformation());
      return ExitCode.Usage;
    }
    refuseUnknown(program, cli.argv[0]);
    const words = command === "serve" && cli.argv[0] !== "serve" ? ["serve", ...cli.argv] : cli.argv;
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    return report(error, cli.stderr);
  }
}

/** The command that the arguments start with. Options alone belong to `serve`, except those of the program itself. */
function commandOf(argv: readonly string[]): string {
  const [word = "help"] = argv;
  if (!word.startsWith("-") || argv.some((argument) => OWN_FLAGS.has(argument))) return word;
  return "serve";
}

/** Loads all commands where the help or a suggestion needs them. */
function loadersFor(command: string): readonly LoadCommand[] {
  if (VERSION_FLAGS.has(command)) return [];
  const loader = LOADERS.get(command);
  return loader === undefined || command === "completion" ? ALL : [loader];
}

export async function createProgram(
  cli: Cli,
  finish: Finish,
  loaders: readonly LoadCommand[] = ALL,
): Promise<Command> {
  const program = new Command("ttyhq")
    .description(
      "Terminal sessions as a service: programs that any browser or terminal can look at and type into.",
    )
    .version(cli.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this, or the help of a command")
    .helpCommand("help [command]", "print the help of a command")
    .enablePositionalOptions()
    .showHelpAfterError("(ttyhq --help lists the commands, ttyhq COMMAND --help their options)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void cli.stdout.write(text),
      writeErr: (text) => void cli.stderr.write(text),
      outputError: (text, write) => write(`${prefixOf(cli.stderr)} ${text.replace(/^error: /, "")}`),
      getOutHelpWidth: () => cli.stdout.columns ?? 100,
      getErrHelpWidth: () => cli.stderr.columns ?? 100,
    });
  for (const load of loaders) (await load())(program, cli, finish);
  return program;
}

function refuseUnknown(program: Command, word: string | undefined): void {
  if (word === undefined || word.startsWith("-") || word === "help") return;
  const names = program.commands.flatMap((command) => [command.name(), ...command.aliases()]);
  if (names.includes(word)) return;
  // Short words resemble too many others.
  const meant = nearest(word, [...OTHER_NAMES.keys(), ...names], word.length > 5 ? 2 : 1);
  const hint = meant === undefined ? "" : `; did you mean \`ttyhq ${OTHER_NAMES.get(meant) ?? meant}\`?`;
  program.error(`error: unknown command '${word}'${hint}`);
}

/** Names that other programs use for these commands. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    kill: ["rm", "stop", "end", "remove", "delete"],
    run: ["exec", "new", "create"],
    serve: ["start", "server", "daemon"],
    attach: ["connect", "join", "open"],
  }).flatMap(([command, names]) => names.map((name) => [name, command] as const)),
);

function report(error: unknown, stderr: OutputStream): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.Ok : ExitCode.Usage;
  if (error instanceof ConfigError) {
    for (const problem of error.problems) writeMessage(stderr, problem);
    return ExitCode.Usage;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  writeMessage(stderr, isExplained(error) ? error.message + loginHint(error) : `internal error: ${stack}`);
  return ExitCode.Failed;
}

/** Only a server with a URL requires a login. */
function loginHint(error: Error): string {
  const isUnauthorized = error instanceof ServiceError && error.code === "unauthorized";
  return isUnauthorized ? "; `ttyhq login` prints a token for TTYHQ_TOKEN" : "";
}

/** The message of a system error names the call and the path, as of a file that cannot be read; that of a timeout, what was late. */
function isExplained(error: unknown): error is Error {
  return error instanceof ServiceError || isTimeout(error) || (error instanceof Error && "syscall" in error);
}
