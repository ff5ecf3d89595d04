// Commands as data: arguments, options, examples and exit codes. Parsing, help and completion are made from them.
import { styleText } from "node:util";
import { type Command, InvalidArgumentError, Option, type OptionValues } from "commander";
import type { Cli, OutputStream } from "./process-context.ts";
import { printable } from "./text.ts";

/** `run` and `attach` exit with the code of their program instead. */
export const ExitCode = { Ok: 0, Failed: 1, Usage: 2 } as const;

export type Finish = (exitCode: number) => void;

export type AddCommand = (parent: Command, cli: Cli, finish: Finish) => void;

type Examples = readonly (readonly [command: string, purpose: string])[];

type Help = { readonly summary: string; readonly description?: string; readonly examples?: Examples };

/** In place of a default: the option must be given. */
export const REQUIRED = Symbol("required");
/** In place of a default: the option may be repeated, and its value is a list. */
export const REPEATABLE = Symbol("repeatable");

/** The parser throws RangeError "must be …". The default is a text for it, which the help shows. */
type Flag =
  | readonly [flags: string, prose: string]
  | readonly [
      flags: string,
      prose: string,
      parse: (text: string) => unknown,
      fallback?: string | typeof REQUIRED | typeof REPEATABLE,
    ];

/** By the name of the long flag in camel case. */
export type Flags = Readonly<Record<string, Flag>>;

type ValueOf<F extends Flag> = F extends readonly [string, string, (text: string) => infer T, infer Fallback]
  ? Fallback extends typeof REPEATABLE
    ? readonly T[] | undefined
    : T
  : F extends readonly [string, string, (text: string) => infer T]
    ? T | undefined
    : F extends readonly [`${string}<${string}`, string]
      ? string | undefined
      : F extends readonly [`--no-${string}`, string]
        ? boolean
        : true | undefined;

export type Values<F extends Flags> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

export type Declaration = Help & {
  /** Name and arguments, as `kill <session...>`. */
  readonly usage: string;
  readonly args?: Readonly<Record<string, string>>;
  readonly flags?: Flags;
  readonly extend?: (command: Command) => unknown;
};

export function command<const F extends Flags = Flags>(
  definition: Declaration & {
    readonly flags?: F;
    /** Resolves with the exit code, if it is not 0. */
    run(flags: Values<F>, args: readonly string[], cli: Cli): Promise<number> | Promise<void>;
  },
): AddCommand {
  return declare<Values<F>>(definition, (...given) => definition.run(...given));
}

/** `Given`: the values of the flags. */
export function declare<Given extends OptionValues>(
  declaration: Declaration,
  run: (flags: Given, args: readonly string[], cli: Cli) => Promise<number> | Promise<void>,
): AddCommand {
  const { usage, args = {}, flags = {}, extend } = declaration;
  return (parent, cli, finish) => {
    const added = parent.command(usage);
    for (const argument of added.registeredArguments) argument.description = args[argument.name()] ?? "";
    for (const flag of Object.values(flags)) added.addOption(optionOf(flag));
    extend?.(added);
    described(added, declaration).action(async () => {
      const exitCode = await run(added.opts<Given>(), added.processedArgs.flat(), cli);
      if (typeof exitCode === "number") finish(exitCode);
    });
  };
}

export function group(name: string, help: Help, commands: readonly AddCommand[]): AddCommand {
  return (program, cli, finish) => {
    const parent = described(program.command(name), help);
    for (const add of commands) add(parent, cli, finish);
  };
}

function optionOf([flags, prose, parse, fallback]: Flag): Option {
  const option = new Option(flags, prose);
  if (parse === undefined) return option;
  if (fallback === REQUIRED) option.makeOptionMandatory();
  else if (typeof fallback === "string") option.default(parse(fallback), fallback);
  return option.argParser<unknown>((text, previous) => {
    try {
      if (fallback !== REPEATABLE) return parse(text);
      return Array.isArray(previous) ? [...previous, parse(text)] : [parse(text)];
    } catch (error) {
      throw error instanceof RangeError ? new InvalidArgumentError(`It ${error.message}.`) : error;
    }
  });
}

function described(added: Command, { summary, description, examples }: Help): Command {
  const sentence = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
  added.summary(summary).description(description ?? sentence);
  return examples === undefined ? added : added.addHelpText("after", exampleText(examples));
}

function exampleText(examples: Examples): string {
  const width = Math.max(...examples.map(([line]) => line.length));
  const rows = examples.map(([line, purpose]) => `  ${line.padEnd(width)}  ${purpose}`);
  return ["\nExamples:", ...rows].join("\n");
}

/** Writes a message after the program's name, with further lines as they are. */
export function writeMessage(stderr: OutputStream, message: string): void {
  stderr.write(`${prefixOf(stderr)} ${message.split("\n").map(printable).join("\n")}\n`);
}

/** In colour on a terminal, unless NO_COLOR says otherwise. */
export function prefixOf(stderr: OutputStream): string {
  return stderr.isTTY ? styleText("red", "ttyhq:", { stream: stderr }) : "ttyhq:";
}

export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, undefined, Array.isArray(value) ? 2 : undefined)}\n`;
}
