// Creating a worktree, and switching the main one to another branch.
import type { VNode } from "preact";
import { useId, useRef } from "preact/hooks";
import type { BranchRecord } from "../../protocol/schemas/git.ts";
import { SubmitButton } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure } from "../components/failure.tsx";
import { type Option, SelectField } from "../components/select.tsx";
import { useSubmission } from "../components/submission.ts";
import { PLAIN_TEXT, TextField } from "../components/text-field.tsx";
import { folderWords } from "../session/words.ts";
import type { Repository, RepositoryState } from "./repository.ts";

type ChangeDialogProps = {
  readonly repository: Repository;
  readonly state: RepositoryState;
  readonly onClose: () => void;
};

/** The branches when the dialog opened: an option that comes or goes meanwhile would change the choice. */
function useOffered({ branches }: RepositoryState): readonly BranchRecord[] {
  return useRef(branches).current;
}

export function CreateDialog({ repository, state, onClose }: ChangeDialogProps): VNode {
  const { branches, list } = state;
  const offered = useOffered(state);
  const free = branches.filter(({ worktree, remote }) => worktree === undefined && !remote);
  const main = list.worktrees.find(({ isMain }) => isMain)?.path ?? list.repoPath;
  const { isBusy, failure, onSubmit } = useSubmission("The worktree was not created.", async (fields) => {
    const text = (name: string): string => String(fields.get(name) ?? "").trim();
    const [branch, baseBranch, path] = [text("branch"), text("base"), text("path")];
    await repository.create({
      branch,
      // An existing branch already has its start.
      ...(baseBranch !== "" && !branches.some(({ name }) => name === branch) && { baseBranch }),
      ...(path !== "" && { path }),
    });
    onClose();
  });
  const names = useId();
  return (
    <Dialog
      title="New worktree"
      about="A folder of its own for a branch: for a colleague, a coding agent, or a second task."
      onClose={onClose}
    >
      <form class="share-form" onSubmit={onSubmit}>
        <label class="field">
          <span>Branch</span>
          <input
            name="branch"
            class="mono"
            list={names}
            placeholder="new or existing"
            required
            maxLength={1024}
            {...PLAIN_TEXT}
          />
        </label>
        <datalist id={names}>
          {free.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <SelectField
          label="A new branch begins at"
          name="base"
          options={[
            {
              value: "",
              words: `the commit of ${main === list.repoPath ? "the main worktree" : "this worktree"}`,
            },
            ...optionsOf(offered),
          ]}
        />
        <TextField label="Folder" name="path" placeholder={`${folderWords(main)}-BRANCH`} {...PLAIN_TEXT} />
        <Failure words={failure} />
        <SubmitButton isBusy={isBusy} busy="Creating…">
          Create
        </SubmitButton>
      </form>
    </Dialog>
  );
}

/** Branches of linked worktrees are not offered: the main worktree follows those. */
export function SwitchDialog({ repository, state, onClose }: ChangeDialogProps): VNode {
  const free = useOffered(state).filter(({ worktree, current }) => worktree === undefined && !current);
  const { isBusy, failure, onSubmit } = useSubmission("The branch was not switched.", async (fields) => {
    const name = String(fields.get("branch") ?? "");
    const branch = free.find((one) => one.name === name);
    // git creates a local branch from a remote's.
    await repository.switchTo(branch?.remote === true ? name.replace(/^[^/]+\//, "") : name);
    onClose();
  });
  const isFollowing = state.follow.enabled;
  return (
    <Dialog
      title="Switch the main worktree"
      about={
        isFollowing
          ? "To another branch. This ends follow mode. Uncommitted changes prevent it."
          : "To another branch. Uncommitted changes prevent it."
      }
      onClose={onClose}
    >
      <form class="share-form" onSubmit={onSubmit}>
        <SelectField label="Branch" name="branch" required options={optionsOf(free)} />
        {free.length === 0 && <p class="muted">Every branch is checked out already.</p>}
        <Failure words={failure} />
        <SubmitButton isBusy={isBusy} busy="Switching…" disabled={free.length === 0}>
          Switch
        </SubmitButton>
      </form>
    </Dialog>
  );
}

function optionsOf(branches: readonly BranchRecord[]): readonly Option<string>[] {
  return branches.map(({ name }) => ({ value: name, words: name }));
}
