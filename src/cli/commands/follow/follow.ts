import type { Command } from "commander";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import type { FollowReply } from "../../../protocol/schemas/follow.ts";
import { examples } from "../../examples.ts";
import { printable } from "../../printable.ts";
import type { Cli } from "../../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../../server.ts";

type FollowFlags = ServerFlags & { readonly dryRun?: true; readonly json?: true };

export function addFollow(program: Command, cli: Cli): void {
  const command = program
    .command("follow [branch]")
    .summary("have the main working tree follow a worktree")
    .description(
      "Have the main working tree of this repository follow the worktree that has the branch; without one, the " +
        "worktree that you are in. Commits go both ways; what is not committed is never overwritten.",
    )
    .option("--dry-run", "say what would happen, and change nothing")
    .option("--json", "print the server's answer as JSON")
    .allowExcessArguments(false)
    .action(async (branch: string | undefined, flags: FollowFlags) => setFollow(cli, flags, true, branch));
  addServerOptions(command).addHelpText(
    "after",
    examples(
      ["ttyhq follow feature", "the main tree shows what the worktree of feature has"],
      ["ttyhq follow --dry-run feature", "what that would change"],
    ),
  );
}

export function addUnfollow(program: Command, cli: Cli): void {
  const command = program
    .command("unfollow [branch]")
    .summary("end follow mode in this repository")
    .description(
      "End follow mode in this repository and remove its git hooks. The main tree stays at the commit where it is, " +
        "on no branch. No server is needed for that.",
    )
    .option("--dry-run", "say what would happen, and change nothing")
    .option("--json", "print the server's answer as JSON")
    .allowExcessArguments(false)
    .action(async (branch: string | undefined, flags: FollowFlags) => setFollow(cli, flags, false, branch));
  addServerOptions(command).addHelpText(
    "after",
    examples(["ttyhq unfollow && git switch main", "back to where the main tree was"]),
  );
}

async function setFollow(
  cli: Cli,
  flags: FollowFlags,
  enable: boolean,
  branch: string | undefined,
): Promise<void> {
  const { client, controlDir, answers } = serverOf(flags, cli);
  const wanted = branch === undefined ? {} : { branch };
  const isDryRun = flags.dryRun ?? false;
  const body = { repoPath: cli.cwd, ...wanted, enable, dryRun: isDryRun };
  const isHere = !enable && controlDir !== undefined && !(await answers());
  const reply = isHere
    ? await (await import("./unfollow-here.ts")).unfollowHere(cli, controlDir, { isDryRun })
    : await client.call(endpoints.setFollow, { body });
  cli.stdout.write(flags.json ? `${JSON.stringify(reply)}\n` : spoken(reply));
}

function spoken({ message, enabled, worktreePath, repoPath, steps }: FollowReply): string {
  const which =
    enabled && worktreePath !== undefined ? `: ${repoPath} follows ${worktreePath}` : `: ${repoPath}`;
  return [`${message}${which}`, ...steps.map((step) => `  ${step}`)]
    .map((line) => `${printable(line)}\n`)
    .join("");
}
