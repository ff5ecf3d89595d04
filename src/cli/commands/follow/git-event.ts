import type { Command } from "commander";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { examples } from "../../examples.ts";
import type { Cli } from "../../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../../server.ts";

const EXAMPLES = examples(["ttyhq git event", "has the server look at this repository now"]);

/** What git's hooks start. It says nothing and never fails: a git command must not. */
export function addGitEvent(program: Command, cli: Cli): void {
  const git = program
    .command("git")
    .summary("what git's hooks call")
    .description("What git's hooks call.")
    .addHelpText("after", EXAMPLES);
  const command = git
    .command("event")
    .summary("tell the server that something has happened in this repository")
    .description(
      "Tell the server that something has happened in this repository. Silent, with a server or without.",
    )
    .option("--event <name>", "what git did: checkout, commit, merge", "other")
    .allowExcessArguments(false)
    .action(async ({ event, ...flags }: ServerFlags & { readonly event: string }) => {
      try {
        const { client } = serverOf(flags, cli);
        await client.call(endpoints.gitEvent, { body: { repoPath: cli.cwd, event: event.slice(0, 64) } });
      } catch {
        // Nobody is there, or has no use for it.
      }
    });
  addServerOptions(command).addHelpText("after", EXAMPLES);
}
