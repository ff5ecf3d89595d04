import type { Command } from "commander";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { examples } from "../examples.ts";
import type { Cli } from "../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../server.ts";

export function addLoginLink(program: Command, cli: Cli): void {
  const command = program
    .command("login-link")
    .summary("print a link that logs a browser in, once")
    .description("Print an address of the page that logs a browser in, once and within 10 minutes.")
    .option("--json", 'print {"url", "expiresIn"}, the latter in seconds')
    .allowExcessArguments(false)
    .action(async (flags: ServerFlags & { readonly json?: true }) => {
      const link = await serverOf(flags, cli, "server").client.call(endpoints.createLoginLink);
      cli.stdout.write(flags.json ? `${JSON.stringify(link)}\n` : `${link.url}\n`);
    });
  addServerOptions(command).addHelpText(
    "after",
    examples(['xdg-open "$(ttyhq login-link)"', "opens the page"]),
  );
}

export function addEnrolmentCode(program: Command, cli: Cli): void {
  const command = program
    .command("enrolment-code")
    .summary("print a code with which a user makes a passkey, once")
    .description(
      "Print a code for a user who needs a passkey and has none, or has lost it. Together with their password it makes one passkey and new recovery codes, once and within 24 hours.",
    )
    .argument("<user>", "name that they log in with")
    .option("--json", 'print {"code", "expiresIn"}, the latter in seconds')
    .allowExcessArguments(false)
    .action(async (user: string, flags: ServerFlags & { readonly json?: true }) => {
      const { client } = serverOf(flags, cli, "server");
      const made = await client.call(endpoints.createEnrolmentCode, { body: { user } });
      cli.stdout.write(flags.json ? `${JSON.stringify(made)}\n` : `${made.code}\n`);
    });
  addServerOptions(command).addHelpText(
    "after",
    examples(["ttyhq enrolment-code ada", "for the second factor that --require-second-factor asks for"]),
  );
}
