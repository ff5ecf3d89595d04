// What all commands share: their declaration, examples, JSON output, messages and exit codes.

import { type Command, InvalidArgumentError } from "commander";
import type { OutputStream } from "./process-context.ts";
import { printable } from "./text.ts";

/** `run` and `attach` exit with the code of their program instead. */
export const ExitCode = { Ok: 0, Failed: 1, Usage: 2 } as const;

/** The exit code of a process that was ended by a signal, as in shells. */
export function signalExitCode(signal: number): number {
  return 128 + signal;
}

/** Sets the exit code of the command line. */
export type Finish = (exitCode: number) => void;

type Examples = readonly (readonly [command: string, purpose: string])[];

function examples(...lines: Examples): string {
  const width = Math.max(...lines.map(([command]) => command.length));
  const rows = lines.map(([command, purpose]) => `  ${command.padEnd(width)}  ${purpose}`);
  return ["\nExamples:", ...rows].join("\n");
}

/** Writes a message after the program's name, with further lines as they are. */
export function writeMessage(stderr: OutputStream, message: string): void {
  const [first = "", ...more] = message.split("\n");
  stderr.write([`ttyhq: ${printable(first)}`, ...more.map(printable), ""].join("\n"));
}

/** Lists are indented. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, Array.isArray(value) ? 2 : undefined)}\n`;
}

export type Help = { readonly summary: string; readonly description?: string; readonly examples?: Examples };

export function addGroup(program: Command, name: string, help: Help): Command {
  return described(program.command(name), help);
}

export type Definition<Flags> = Help & {
  /** Name and arguments, as `kill <session...>`. */
  readonly usage: string;
  /** Adds the command's own arguments and options. */
  readonly options?: (command: Command) => Command;
  readonly isDefault?: boolean;
  run(flags: Flags, args: readonly string[]): Promise<void>;
};

export function addCommand<Flags>(parent: Command, definition: Definition<Flags>): void {
  const { usage, options, isDefault = false, run } = definition;
  const command = parent.command(usage, { isDefault });
  options?.(command);
  for (const parsed of [...command.options, ...command.registeredArguments]) {
    const { parseArg } = parsed;
    if (parseArg) parsed.argParser((text, previous) => explained(() => parseArg(text, previous)));
  }
  described(command, definition).action(
    async () => await run(command.opts<Flags & object>(), command.processedArgs.flat()),
  );
}

/** Lets parsers of values throw RangeError "must be …". */
function explained<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof RangeError ? new InvalidArgumentError(`It ${error.message}.`) : error;
  }
}

function described(command: Command, { summary, description, examples: lines }: Help): Command {
  command.summary(summary).description(description ?? sentence(summary));
  return lines === undefined ? command : command.addHelpText("after", examples(...lines));
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}
