import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import type { FollowReply } from "../../../protocol/schemas/follow.ts";
import { command, group } from "../../command.ts";
import { query } from "../../query.ts";
import { SERVER_FLAGS, serverOf } from "../../server.ts";
import { printable } from "../../text.ts";

const QUERY = {
  json: "print the server's answer as JSON",
  flags: { dryRun: ["--dry-run", "print the changes without making them"] },
  text: replyText,
} as const;

export const addFollow = query({
  ...QUERY,
  usage: "follow [branch]",
  summary: "have the main working tree follow a worktree",
  description:
    "Have the main working tree of this repository follow the worktree of a branch; without a branch, the worktree that you are in. Commits go both ways; uncommitted changes are never overwritten.",
  examples: [
    ["ttyhq follow feature", "the main tree shows the worktree of feature"],
    ["ttyhq follow --dry-run feature", "what that would change"],
  ],
  ask: ({ client }, { dryRun = false }, [branch], { cwd: repoPath }) =>
    client.call(endpoints.setFollow, { body: { repoPath, branch, enable: true, dryRun } }),
});

export const addUnfollow = query({
  ...QUERY,
  usage: "unfollow [branch]",
  summary: "end follow mode in this repository",
  description:
    "End follow mode in this repository and remove its git hooks. The main tree stays at its commit, on no branch. Works without a server.",
  examples: [["ttyhq unfollow && git switch main", "back to where the main tree was"]],
  ask: async ({ client, controlDir, answers }, { dryRun = false }, [branch], cli) => {
    if (controlDir !== undefined && !(await answers())) {
      const { unfollowHere } = await import("./unfollow-here.ts");
      return await unfollowHere(cli, controlDir, { isDryRun: dryRun });
    }
    const body = { repoPath: cli.cwd, branch, enable: false, dryRun };
    return await client.call(endpoints.setFollow, { body });
  },
});

function replyText({ message, enabled, worktreePath, repoPath, steps }: FollowReply): string {
  const followed = enabled && worktreePath !== undefined ? ` follows ${worktreePath}` : "";
  return [`${message}: ${repoPath}${followed}`, ...steps.map((step) => `  ${step}`)]
    .map((line) => `${printable(line)}\n`)
    .join("");
}

const EVENT_EXAMPLES = [["ttyhq git event", "has the server look at this repository now"]] as const;

/** For git's hooks. Silent and never fails, since it must not fail a git command. */
const addEvent = command({
  usage: "event",
  summary: "tell the server about a git event in this repository",
  description: "Tell the server about a git event in this repository. Silent, with or without a server.",
  examples: EVENT_EXAMPLES,
  flags: {
    event: ["--event <name>", "the event: checkout, commit, merge", (text) => text.slice(0, 64), "other"],
    ...SERVER_FLAGS,
  },
  run: async ({ event, ...flags }, _, cli) => {
    try {
      const { client } = await serverOf(flags, cli);
      await client.call(endpoints.gitEvent, { body: { repoPath: cli.cwd, event } });
    } catch {
      // No server is running, or it does not follow this repository.
    }
  },
});

export const addGit = group("git", { summary: "called by git's hooks", examples: EVENT_EXAMPLES }, [
  addEvent,
]);
