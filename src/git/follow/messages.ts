// Texts of follow mode: notifications of actions (contract 7.6), and sentences for dry runs.
import { basename } from "node:path";
import type { GitNotification } from "../../protocol/schemas/follow.ts";
import type { Action, EndReason, FollowState, TreeName } from "./decide.ts";
import type { Refusal } from "./obstacles.ts";

export type Message = Pick<GitNotification, "type" | "level" | "title" | "message">;

const NAMES: Readonly<Record<TreeName, string>> = { main: "main repository", worktree: "worktree" };
const MAX_FILES_NAMED = 5;

const ENDS: Readonly<Record<EndReason, string>> = {
  asked: "Follow mode disabled",
  switched: "Follow mode disabled due to branch switch in main repository",
  worktree_gone: "Follow mode disabled: the followed worktree was removed",
  branch_gone: "Follow mode disabled: the branch of the main repository was deleted",
};

/** `sentence`: for dry runs. `done`: the notification of the action; `undefined`: none is needed. */
type Texts = { readonly sentence: string; readonly done?: Message };

export function textsOf(action: Action, state: FollowState): Texts {
  switch (action.kind) {
    case "fast-forward": {
      const move = `from ${short(action.from)} to ${short(action.to)} of branch '${action.branch}'`;
      return {
        sentence: `the ${NAMES[action.tree]} is fast-forwarded ${move}; local edits stay`,
        done: synced(action.tree, `branch '${action.branch}'`),
      };
    }
    case "check-out":
      return {
        sentence: `the ${NAMES[action.tree]} switches to branch '${action.branch}'; local edits stay`,
        done: synced(action.tree, `branch '${action.branch}'`),
      };
    case "detach": {
      const commit = `commit ${short(action.commit)}`;
      return {
        sentence: `the main repository goes to ${commit}, on no branch`,
        done: synced("main", `${commit}, as the worktree, which is on no branch`),
      };
    }
    case "release":
      return {
        sentence: `the main repository stays at commit ${short(action.commit)} and leaves the branch; no file changes`,
      };
    case "remember":
      return {
        sentence:
          "from then on a branch switch in the worktree switches the main repository, and one in the main repository ends follow mode",
      };
    case "stuck":
      return stuck(action, state);
    case "warn":
      return blindCommit(action);
    case "end":
      return { sentence: "follow mode ends", done: ended(action, state) };
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

function synced(tree: TreeName, to: string): Message {
  return tree === "main"
    ? {
        ...{ type: "main-synced", level: "info", title: "Main Repository Synced" },
        message: `Main repository synced to ${to}`,
      }
    : {
        ...{ type: "worktree-synced", level: "info", title: "Worktree Synced" },
        message: "Worktree synced with latest commits",
      };
}

function failed(message: string, title = "Sync Failed"): Message {
  return { type: "sync-failed", level: "error", title, message };
}

function stuck({ tree, why }: Extract<Action, { kind: "stuck" }>, { branch }: FollowState): Texts {
  const isOwn = why === "own_commits";
  const sentence = isOwn
    ? `the ${NAMES[tree]} has commits that are on no branch, and stays with them`
    : `it is unknown which commit the files of the ${NAMES[tree]} come from, so they stay as they are`;
  const hint = isOwn && branch !== undefined ? ` Merge them into '${branch}', or put a branch on them.` : "";
  return { sentence, done: failed(`Failed to sync ${NAMES[tree]}: ${sentence}.${hint}`) };
}

function blindCommit({ tree, commit, of, onto }: Extract<Action, { kind: "warn" }>): Texts {
  const what = `commit ${short(commit)} in the ${NAMES[tree]} was made on old files and reverts the changes from ${short(of)} to ${short(onto)}`;
  const sentence = `Check this: ${what}. \`git cherry-pick ${short(of)}..${short(onto)}\` restores them.`;
  return { sentence, done: failed(sentence, "Commit On Old Files") };
}

function ended({ reason }: Extract<Action, { kind: "end" }>, { main }: FollowState): Message {
  const at = reason === "branch_gone" && main.at !== undefined ? ` (it was at ${short(main.at)})` : "";
  const title = "Follow Mode Disabled";
  return { type: "follow-disabled", level: "info", title, message: `${ENDS[reason]}${at}` };
}

function short(commit: string): string {
  return commit.slice(0, 10);
}
