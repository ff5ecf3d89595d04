// docs/options.md, generated from the option table.
import { type Option, type Role, spellingsOf } from "../src/config/options/option.ts";
import { optionsFor } from "../src/config/options/options.ts";

const PREFACE = `# Options

Generated from the option table in \`src/config/options/options.ts\` by \`npm run docs\`: change it there.

A flag overrides its environment variable, the variable overrides the configuration file that \`--config\` names, the file
overrides the default. An empty variable counts as not set. A repeatable flag takes a comma-separated list in its variable.
A switch takes \`true\` or \`false\` there. For a secret name a file that holds it, by the flag or by the variable that ends
in \`_FILE\`, or set the variable itself: other users of the machine can see command lines, so a flag that takes a secret
itself causes a warning. In the configuration file an option has the name of its flag without the leading hyphens,
\`service-username\` and \`service-password\` included: [configuration.md](configuration.md). \`ttyhq config\` with the same
options prints the result.

An invalid or contradictory configuration ends the start with exit code 2 and a sentence for each problem.
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
  const spellings = spellingsOf(option);
  const flags = spellings
    .filter(({ flag }) => flag !== undefined)
    .map(({ flag, placeholder }) => `\`${flag}${placeholder === undefined ? "" : ` <${placeholder}>`}\``);
  const fallback = option.shape === "value" && option.fallbackText !== "" ? `\`${option.fallbackText}\`` : "";
  const cells = [
    `${flags.join(", ")}${option.shape === "list" ? " (repeatable)" : ""}`,
    spellings.map(({ variable }) => `\`${variable}\``).join(", "),
    fallback,
    option.prose,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
