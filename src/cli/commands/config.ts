import type { Command } from "commander";
import { type Examination, examineConfig } from "../../config/config.ts";
import { registerOptions } from "../../config/sources/flags.ts";
import { type Setting, sourceWords } from "../../config/sources/settings.ts";
import { ExitCode, examples, type Finish, writeMessage } from "../command.ts";
import { configInput } from "../configuration.ts";
import type { Cli } from "../process-context.ts";
import { printable, table } from "../text.ts";

const HEADINGS = ["OPTION", "VALUE", "FROM"];

export function addConfig(program: Command, cli: Cli, finish: Finish): void {
  const command = program
    .command("config")
    .summary("print the configuration that a server would have, and where each part comes from")
    .description(
      "Print the configuration that ttyhq serve with the same options would have, and where each part of it comes from: a flag, a variable, the configuration file or the default. Secrets are not shown. Nothing is started or written. Ends with 2 and a sentence for each problem when a server would not start.",
    )
    .action(async () => {
      const flags = command.opts();
      const examination = examineConfig(await configInput(flags, cli));
      if (flags.check !== true)
        cli.stdout.write(flags.json === true ? asJson(examination) : asText(examination));
      for (const warning of examination.warnings) writeMessage(cli.stderr, `warning: ${warning}`);
      for (const problem of examination.problems) writeMessage(cli.stderr, problem);
      if (examination.problems.length > 0) finish(ExitCode.Usage);
    });
  registerOptions(command, "server");
  command
    .option("--check", "print nothing but what is wrong")
    .option("--json", 'print {"settings": [{"name", "value", "source"}], "problems", "warnings"}')
    .addHelpText(
      "after",
      examples(
        ["ttyhq config --config /etc/ttyhq/config.yaml", "what a server with this file would be"],
        ["ttyhq config --config config.yaml --check", "before a restart: ends with 0 when it is right"],
        [`ttyhq config --json | jq '.settings[] | select(.source.kind != "default")'`, "what was given"],
      ),
    );
}

function asText({ settings }: Examination): string {
  const rows = settings.map((setting) => [
    setting.name,
    printable(valueText(setting)),
    printable(sourceWords(setting.source)),
  ]);
  return table(HEADINGS, rows);
}

/** Never how long a secret is, either. */
function valueText({ value, isSet, secretFile }: Setting): string {
  if (secretFile !== undefined) return `(set, in ${secretFile})`;
  if (isSet !== undefined) return isSet ? "(set)" : "";
  if (value === undefined) return "";
  return typeof value === "object" ? value.join(", ") : String(value);
}

function asJson({ settings, problems, warnings }: Examination): string {
  return `${JSON.stringify({ settings, problems, warnings }, undefined, 2)}\n`;
}
