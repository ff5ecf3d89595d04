import { examineConfig } from "../../config/config.ts";
import { type Setting, sourceWords } from "../../config/sources/settings.ts";
import { command, ExitCode, writeMessage } from "../command.ts";
import { configInput, registerOptions } from "../configuration.ts";
import { table } from "../text.ts";

export const addConfig = command({
  usage: "config",
  summary: "print the configuration of a server and the source of each setting",
  description:
    "Print the configuration that ttyhq serve would have with the same options, and the source of each setting: a flag, a variable, the configuration file or the default. Secrets are not shown. Nothing is started or written. When a server would not start, the exit code is 2, with a sentence for each problem.",
  examples: [
    ["ttyhq config --config /etc/ttyhq/config.yaml", "the configuration of a server with this file"],
    ["ttyhq config --config config.yaml --check", "before a restart: exit code 0 when it is valid"],
    [`ttyhq config --json | jq '.settings[] | select(.source.kind != "default")'`, "without the defaults"],
  ],
  flags: {
    check: ["--check", "print problems only"],
    json: ["--json", 'print {"settings": [{"name", "value", "source"}], "problems", "warnings"}'],
  },
  extend: (added) => registerOptions(added, "server"),
  run: async ({ check, json, ...flags }, _, cli) => {
    const { settings, problems, warnings } = examineConfig(await configInput(flags, cli));
    const asJson = (): string => `${JSON.stringify({ settings, problems, warnings }, undefined, 2)}\n`;
    if (!check) cli.stdout.write(json ? asJson() : asText(settings));
    for (const warning of warnings) writeMessage(cli.stderr, `warning: ${warning}`);
    for (const problem of problems) writeMessage(cli.stderr, problem);
    return problems.length > 0 ? ExitCode.Usage : ExitCode.Ok;
  },
});

function asText(settings: readonly Setting[]): string {
  const rows = settings.map((setting) => [setting.name, valueText(setting), sourceWords(setting.source)]);
  return table(["OPTION", "VALUE", "FROM"], rows);
}

/** Does not reveal the length of secrets. */
function valueText({ value, isSet, secretFile }: Setting): string {
  if (secretFile !== undefined) return `(set, in ${secretFile})`;
  if (isSet !== undefined) return isSet ? "(set)" : "";
  if (value === undefined) return "";
  return typeof value === "object" ? value.join(", ") : String(value);
}
