// The command line as a whole: which commands there are, and how each of them ends.
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/config-error.ts";
import { ServiceError } from "../protocol/errors.ts";
import { addUp } from "./cluster/up.ts";
import { ExitCode, type Finish, writeMessage } from "./command.ts";
import { addAttach } from "./commands/attach.ts";
import { addAudit } from "./commands/audit.ts";
import { addConfig } from "./commands/config.ts";
import { addFollow, addGitEvent, addUnfollow } from "./commands/follow/follow.ts";
import { addHealth } from "./commands/health.ts";
import { addKill } from "./commands/kill.ts";
import { addLogin } from "./commands/login.ts";
import { addEnrolmentCode, addLoginLink } from "./commands/login-link.ts";
import { addLs } from "./commands/ls.ts";
import { addPlay } from "./commands/play.ts";
import { addRun } from "./commands/run.ts";
import { addServe } from "./commands/serve.ts";
import { addSessionHost } from "./commands/session-host.ts";
import { addStatus } from "./commands/status.ts";
import { addJoinToken, addRemoteKey, addToken } from "./commands/tokens.ts";
import { addControlDir } from "./configuration.ts";
import type { Cli, OutputStream } from "./process-context.ts";
import { inLogFormat } from "./stderr-format.ts";
import { addSystemd } from "./systemd/command.ts";

const COMMANDS = [
  addServe,
  addRun,
  addAttach,
  addLs,
  addKill,
  addPlay,
  addStatus,
  addFollow,
  addUnfollow,
  addGitEvent,
  addHealth,
  addLogin,
  addLoginLink,
  addEnrolmentCode,
  addToken,
  addAudit,
  addUp,
  addJoinToken,
  addRemoteKey,
  addSessionHost,
  addConfig,
  addSystemd,
];

/** Runs the command that was asked for. Resolves with the exit code; whatever fails was told on standard error. */
export async function runCli(started: Cli): Promise<number> {
  const cli = await inLogFormat(started);
  let exitCode: number = ExitCode.Ok;
  const program = createProgram(cli, (code) => {
    exitCode = code;
  });
  // `ttyhq ls | head` closes the pipe: that is how a reader says that it has had enough. A terminal may be gone as well.
  for (const stream of [started.stdout, started.stderr]) stream.on("error", () => undefined);
  try {
    refuseUnknown(program, cli.argv[0]);
    await program.parseAsync(cli.argv, { from: "user" });
    return exitCode;
  } catch (error) {
    return report(error, cli.stderr);
  }
}

export function createProgram(cli: Cli, finish: Finish): Command {
  const program = new Command("ttyhq")
    .description(
      "Terminal sessions as a service: programs that any browser or terminal can look at and type into.",
    )
    .version(cli.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this, or the help of a command")
    .helpCommand("help [command]", "print the help of a command")
    .enablePositionalOptions()
    .showHelpAfterError("(ttyhq --help says what there is)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void cli.stdout.write(text),
      writeErr: (text) => void cli.stderr.write(text),
      outputError: (text, write) => write(`ttyhq: ${text.replace(/^error: /, "")}`),
      getOutHelpWidth: () => cli.stdout.columns ?? 100,
      getErrHelpWidth: () => cli.stderr.columns ?? 100,
    });
  program.hook("preAction", async (_, command) => await addControlDir(command, cli));
  for (const add of COMMANDS) add(program, cli, finish);
  return program;
}

/** Commander would take it for an argument of the default command. */
function refuseUnknown(program: Command, word: string | undefined): void {
  if (word === undefined || word.startsWith("-") || word === "help") return;
  const isKnown = program.commands.some((command) => [command.name(), ...command.aliases()].includes(word));
  if (!isKnown) program.error(`error: unknown command '${word}'`);
}

function report(error: unknown, stderr: OutputStream): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.Ok : ExitCode.Usage;
  if (error instanceof ConfigError) {
    for (const problem of error.problems) writeMessage(stderr, problem);
    return ExitCode.Usage;
  }
  if (error instanceof ServiceError) writeMessage(stderr, error.message);
  else
    writeMessage(
      stderr,
      `internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  return ExitCode.Failed;
}
