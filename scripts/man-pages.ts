// Manual pages of the command line, from the same data as its help: ttyhq(1), and a page for each command.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { Command } from "commander";
import manifest from "../package.json" with { type: "json" };
import type { Cli } from "../src/cli/process-context.ts";
import { createProgram } from "../src/cli/program.ts";

const EXIT_STATUS = `.SH EXIT STATUS
0 on success, 1 on failure, 2 on wrong usage. \\fBrun\\fR and \\fBattach\\fR exit with the code of their program,
or with 128 and the number of the signal that ended it.
`;

/** By file name. */
export async function manPages(): Promise<ReadonlyMap<string, string>> {
  const help = new PassThrough({ encoding: "utf8" });
  const program = await createProgram(nothingRuns(help), () => undefined);
  const commands = program.commands.filter((command) => command.name() !== "help");
  const pages = commands.map((command) => [`ttyhq-${command.name()}.1`, commandPage(command, help)] as const);
  return new Map([["ttyhq.1", programPage(program, commands)], ...pages]);
}

/** Writes the pages into an empty folder. */
export async function writeManPages(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, page] of await manPages()) writeFileSync(join(folder, name), page);
}

function programPage(program: Command, commands: readonly Command[]): string {
  return [
    header("ttyhq", "terminal sessions as a service"),
    `.SH SYNOPSIS\n.B ttyhq\n[\\fIoptions of serve\\fR]\n.br\n.B ttyhq\n\\fIcommand\\fR [\\fIarguments\\fR]\n`,
    `.SH DESCRIPTION\n${paragraph(program.description())}`,
    "Without a command, options are those of \\fBserve\\fR.\n",
    `.SH COMMANDS\n${commands.map((command) => item(`ttyhq-${command.name()}(1)`, command.summary())).join("")}`,
    optionList(program),
    EXIT_STATUS,
  ].join("");
}

function commandPage(command: Command, help: PassThrough): string {
  return [
    header(`ttyhq-${command.name()}`, command.summary()),
    `.SH SYNOPSIS\n${synopsis(command)}`,
    `.SH DESCRIPTION\n${paragraph(command.description())}`,
    ...command.commands.map(
      (sub) => `.SS ${sub.name()}\n${synopsis(sub)}.PP\n${paragraph(sub.description())}${itemsOf(sub)}`,
    ),
    optionList(command),
    examples(command, help),
    EXIT_STATUS,
    ".SH SEE ALSO\n\\fBttyhq\\fR(1)\n",
  ].join("");
}

function header(name: string, summary: string): string {
  return `.TH ${name.toUpperCase()} 1 "" "ttyhq ${manifest.version}" "ttyhq"\n.nh\n.ad l\n.SH NAME\n${roff(name)} \\- ${roff(summary)}\n`;
}

function synopsis(command: Command): string {
  const names: string[] = [];
  for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name());
  return `.B ${roff(names.join(" "))}\n${paragraph(command.usage())}`;
}

function optionList(command: Command): string {
  const items = itemsOf(command);
  return items === "" ? "" : `.SH OPTIONS\n${items}`;
}

/** Arguments with descriptions, and options. */
function itemsOf(command: Command): string {
  const help = command.createHelp();
  return [
    ...help.visibleArguments(command).map((argument) => item(argument.name(), argument.description)),
    ...help.visibleOptions(command).map((option) => item(option.flags, help.optionDescription(option))),
  ].join("");
}

/** Commander prints text after the help only to the terminal. */
function examples(command: Command, help: PassThrough): string {
  command.outputHelp();
  const text = String(help.read()).slice(command.helpInformation().length);
  const lines = text.split("\n").filter((line) => line.startsWith("  "));
  if (lines.length === 0) return "";
  return `.SH EXAMPLES\n${lines
    .map((line) => {
      const [, example = "", purpose = ""] = /^ {2}(.*?)(?: {2,}(.*))?$/.exec(line) ?? [];
      return item(example, purpose);
    })
    .join("")}`;
}

function item(term: string, text: string): string {
  return `.TP\n.B ${roff(term)}\n${paragraph(text)}`;
}

function paragraph(text: string): string {
  return `${roff(text)}\n`;
}

/** Escapes text so that roff finds no commands in it. */
function roff(text: string): string {
  const escaped = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("`", "\\(ga");
  return escaped.replace(/^(?=[.'])/gm, "\\&").replaceAll("…", "...");
}

/** Commands are described, never run. */
function nothingRuns(stdout: PassThrough): Cli {
  const refuse = (): Promise<never> => Promise.reject(new Error("no command runs here"));
  return {
    ...{
      argv: [],
      env: {},
      cwd: "/",
      home: "~",
      user: "you",
      hostname: "localhost",
      version: manifest.version,
    },
    ...{ program: { node: "node", main: "ttyhq" }, stdin: new PassThrough(), stdout, stderr: stdout },
    ...{ startServer: refuse, startSessionHost: refuse, ensureHost: refuse, reportFaults: () => undefined },
  };
}

if (import.meta.main) await writeManPages(process.argv[2] ?? "man");
