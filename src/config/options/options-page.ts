// docs/options.md, made from the option table by scripts/docs.ts.
import { envOf, fileEnvOf, flagOf, type Option, placeholderOf, plainFlagOf, type Role } from "./option.ts";
import { optionsFor } from "./options.ts";

const PREFACE = `# Options

Made from the option table in \`src/config/options/options.ts\` by \`npm run docs\`: change it there.

A flag wins over its environment variable, the variable over the configuration file that \`--config\` names, the file over
the default; an empty variable counts as not set. A flag that may be repeated takes a list with commas in its variable. A
switch takes \`true\` or \`false\` there. For a secret give a file that holds it, by the flag or by the variable that ends in
\`_FILE\`, or the variable itself: what stands on a command line can be seen by other users of the machine, so a flag that
takes a secret itself gives a warning. In the configuration file an option stands under the name of its flag without the
hyphens in front, \`service-username\` and \`service-password\` among them: [configuration.md](configuration.md). \`ttyhq config\`
with the same options prints what they come to.

What cannot be or contradicts itself ends the start with exit code 2 and a sentence for each problem.
`;

/** The whole page as Markdown. */
export function optionsPage(): string {
  return [
    PREFACE,
    section("ttyhq serve", "server", "The server."),
    section(
      "ttyhq session-host",
      "session-host",
      "The process that owns the terminals. The server starts it.",
    ),
  ].join("\n");
}

function section(command: string, role: Role, prose: string): string {
  const rows = optionsFor(role).map(row);
  const head = ["| Flag | Variable | Default | |", "|---|---|---|---|"];
  return [`## \`${command}\``, "", prose, "", ...head, ...rows, ""].join("\n");
}

function row(option: Option): string {
  const cells = [flagCell(option), envCell(option), defaultCell(option), option.prose];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function flagCell(option: Option): string {
  const flag = flagOf(option);
  const placeholder = placeholderOf(option);
  if (flag === undefined) return "";
  const repeated = option.shape === "list" ? " (repeatable)" : "";
  const plainFlag = plainFlagOf(option);
  const plain = plainFlag === undefined ? "" : `\`${plainFlag} <value>\`, `;
  return `${plain}\`${flag}${placeholder === undefined ? "" : ` <${placeholder}>`}\`${repeated}`;
}

function envCell(option: Option): string {
  const names = option.shape === "secret" ? [envOf(option), fileEnvOf(option)] : [envOf(option)];
  return names.map((name) => `\`${name}\``).join(", ");
}

function defaultCell(option: Option): string {
  return option.shape === "value" && option.fallbackText !== "" ? `\`${option.fallbackText}\`` : "";
}
