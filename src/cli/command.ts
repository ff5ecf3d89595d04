// What all commands share: their declaration, examples, JSON output, messages and exit codes.
import type { Command } from "commander";
import { printable } from "./printable.ts";
import type { Cli, OutputStream } from "./process-context.ts";
import { addServerOptions, type Server, type ServerFlags, serverOf } from "./server.ts";

/** The exit codes of every command but `run` and `attach`, which end with the exit code of their program. */
export const ExitCode = { Ok: 0, Failed: 1, Usage: 2 } as const;

/** The exit code for a process that was ended by a signal, as shells report it. */
export function signalExitCode(signal: number): number {
  return 128 + signal;
}

/** Sets the exit code of the command line. */
export type Finish = (exitCode: number) => void;

type Examples = readonly (readonly [command: string, purpose: string])[];

/** Examples for the end of a command's help. */
export function examples(...lines: Examples): string {
  const width = Math.max(...lines.map(([command]) => command.length));
  const rows = lines.map(([command, purpose]) => `  ${command.padEnd(width)}  ${purpose}`);
  return ["\nExamples:", ...rows].join("\n");
}

/** Writes a message for the user, after this program's name. Further lines follow as they are. */
export function writeMessage(stderr: OutputStream, message: string): void {
  const [first = "", ...more] = message.split("\n");
  stderr.write([`ttyhq: ${printable(first)}`, ...more.map(printable), ""].join("\n"));
}

/** A list takes several lines, everything else one line. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, Array.isArray(value) ? 2 : undefined)}\n`;
}

type Help = { readonly summary: string; readonly description?: string; readonly examples?: Examples };

/** A command with subcommands only. */
export function addGroup(program: Command, name: string, help: Help): Command {
  return described(program.command(name), help);
}

function described(command: Command, { summary, description, examples: lines }: Help): Command {
  command.summary(summary).description(description ?? sentence(summary));
  return lines === undefined ? command : command.addHelpText("after", examples(...lines));
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

export type Query<Flags, Answer> = Help & {
  /** Name and arguments, as `kill <session...>`. */
  readonly usage: string;
  /** Description of the option --json. */
  readonly json: string;
  /** "server": the session host does not stand in for a server that is not running. */
  readonly who?: "server";
  /** Adds the command's own options. */
  readonly options?: (command: Command) => Command;
  ask(server: Server, flags: Flags & ServerFlags, args: readonly string[]): Promise<Answer>;
  /** The answer as text for people. */
  text(answer: Answer): string;
};

/** Adds a command that asks a server and prints its answer, as text or as JSON. */
export function addQuery<Flags, Answer>(parent: Command, cli: Cli, query: Query<Flags, Answer>): void {
  const { usage, json, who, options } = query;
  const command = parent.command(usage);
  options?.(command);
  addServerOptions(command.option("--json", json)).action(async () => {
    const flags = command.opts<Flags & ServerFlags & { readonly json?: true }>();
    const answer = await query.ask(serverOf(flags, cli, who), flags, command.processedArgs.flat());
    cli.stdout.write(flags.json ? jsonText(answer) : query.text(answer));
  });
  described(command, query);
}
