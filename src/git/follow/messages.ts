// Texts of follow mode: notifications of actions (contract 7.6), and sentences for dry runs.
import { basename } from "node:path";
import type { GitNotification } from "../../protocol/schemas/follow.ts";
import type { Action, EndReason, FollowState, TreeName } from "./decide.ts";
import type { Refusal } from "./obstacles.ts";

export type Message = Pick<GitNotification, "type" | "level" | "title" | "message">;

const NAMES: Readonly<Record<TreeName, string>> = { main: "main repository", worktree: "worktree" };
const MAX_FILES_NAMED = 5;

const ENDS: Readonly<Record<Exclude<EndReason, "asked">, string>> = {
  switched: "Follow mode disabled due to branch switch in main repository",
  worktree_gone: "Follow mode disabled: the followed worktree was removed",
  branch_gone: "Follow mode disabled: the branch of the main repository was deleted",
};

const WORKTREE_SYNCED: Message = {
  ...{ type: "worktree-synced", level: "info" },
  ...{ title: "Worktree Synced", message: "Worktree synced with latest commits" },
};

/** `undefined`: no notification is needed. */
export function doneMessage(action: Action, state: FollowState): Message | undefined {
  switch (action.kind) {
    case "fast-forward":
    case "check-out":
      return action.tree === "main" ? mainSynced(`branch '${action.branch}'`) : WORKTREE_SYNCED;
    case "detach":
      return mainSynced(`commit ${short(action.commit)}, as the worktree, which is on no branch`);
    case "stuck":
      return stuck(action, state);
    case "warn":
      return blindCommit(action);
    case "end":
      return {
        type: "follow-disabled",
        level: "info",
        title: "Follow Mode Disabled",
        message: ended(action, state),
      };
    default:
      return undefined;
  }
}

export function refusedMessage(action: Action, { why, files }: Refusal): Message {
  const tree = "tree" in action ? action.tree : "main";
  const named = files.slice(0, MAX_FILES_NAMED).join(", ");
  const more = files.length > MAX_FILES_NAMED ? ` and ${files.length - MAX_FILES_NAMED} more` : "";
  const which = files.length === 0 ? "" : ` (${named}${more})`;
  const until = files.length === 0 ? "that is over" : "they are committed, stashed or moved away";
  const stays =
    action.kind === "fast-forward"
      ? `It stays at commit ${short(action.from)}, off the branch, until ${until}.`
      : `Nothing was changed; it is synced once ${until}.`;
  return failed(`Failed to sync ${NAMES[tree]}: ${why}${which}. ${stays}`);
}

export function enabledMessage(worktreePath: string, repoPath: string): Message {
  const message = `Following worktree '${basename(worktreePath)}' in ${basename(repoPath)}`;
  return { type: "follow-enabled", level: "info", title: "Follow Mode Active", message };
}

/** One sentence about the action, for dry runs. */
export function sentence(action: Action): string {
  switch (action.kind) {
    case "fast-forward":
      return `the ${NAMES[action.tree]} is fast-forwarded from ${short(action.from)} to ${short(action.to)} of branch '${action.branch}'; local edits stay`;
    case "check-out":
      return `the ${NAMES[action.tree]} switches to branch '${action.branch}'; local edits stay`;
    case "detach":
      return `the main repository goes to commit ${short(action.commit)}, on no branch`;
    case "release":
      return `the main repository stays at commit ${short(action.commit)} and leaves the branch; no file changes`;
    case "remember":
      return "from then on a branch switch in the worktree switches the main repository, and one in the main repository ends follow mode";
    case "stuck":
      return stuckSentence(action);
    case "warn":
      return blindCommit(action).message;
    case "end":
      return "follow mode ends";
  }
}

function mainSynced(to: string): Message {
  const message = `Main repository synced to ${to}`;
  return { type: "main-synced", level: "info", title: "Main Repository Synced", message };
}

function failed(message: string): Message {
  return { type: "sync-failed", level: "error", title: "Sync Failed", message };
}

function stuck(action: Extract<Action, { kind: "stuck" }>, { branch }: FollowState): Message {
  const hint =
    action.why === "own_commits" && branch !== undefined
      ? ` Merge them into '${branch}', or put a branch on them.`
      : "";
  return failed(`Failed to sync ${NAMES[action.tree]}: ${stuckSentence(action)}.${hint}`);
}

function blindCommit({ tree, commit, of, onto }: Extract<Action, { kind: "warn" }>): Message {
  const what = `commit ${short(commit)} in the ${NAMES[tree]} was made on old files and reverts the changes from ${short(of)} to ${short(onto)}`;
  const message = `Check this: ${what}. \`git cherry-pick ${short(of)}..${short(onto)}\` restores them.`;
  return { type: "sync-failed", level: "error", title: "Commit On Old Files", message };
}

function stuckSentence({ tree, why }: Extract<Action, { kind: "stuck" }>): string {
  return why === "own_commits"
    ? `the ${NAMES[tree]} has commits that are on no branch, and stays with them`
    : `it is unknown which commit the files of the ${NAMES[tree]} come from, so they stay as they are`;
}

function ended({ reason }: Extract<Action, { kind: "end" }>, { main }: FollowState): string {
  if (reason === "asked") return "Follow mode disabled";
  const at = reason === "branch_gone" && main.at !== undefined ? ` (it was at ${short(main.at)})` : "";
  return `${ENDS[reason]}${at}`;
}

function short(commit: string): string {
  return commit.slice(0, 10);
}
