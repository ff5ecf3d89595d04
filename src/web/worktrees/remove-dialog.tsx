import type { VNode } from "preact";
import type { WorktreeLosses, WorktreeRecord } from "../../protocol/schemas/git.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure } from "../components/failure.tsx";
import { Icon } from "../components/icon.tsx";
import { useServerValue } from "../components/loaded.ts";
import { useSubmission } from "../components/submission.ts";
import { folderWords } from "../session/words.ts";
import type { Repository } from "./repository.ts";
import { branchName, counted, keptWords, lossWords } from "./worktree-words.ts";

type RemoveDialogProps = {
  readonly repository: Repository;
  readonly worktree: WorktreeRecord;
  /** Sessions that run in the worktree. */
  readonly running: number;
  readonly onClose: () => void;
};

/** Shows what would be lost, and deletes nothing before that is known. */
export function RemoveDialog({ repository, worktree, running, onClose }: RemoveDialogProps): VNode {
  const branch = branchName(worktree);
  const { value: known, failure: unread } = useServerValue(
    "It could not be read what would be lost.",
    [],
    async () => {
      const losses = await repository.losses(worktree);
      if (losses !== undefined) return losses;
      throw new Error("this machine's version does not tell what would be lost: delete the worktree there");
    },
  );
  const { isBusy, failure, onSubmit } = useSubmission("The worktree was not deleted.", async () => {
    const { changed = 0, untracked = 0 } = known ?? {};
    // Without force the server refuses to delete newer work.
    await repository.remove(worktree, { isForced: changed + untracked > 0 });
    onClose();
  });
  return (
    <Dialog title={`Delete the worktree ${branch}?`} about={folderWords(worktree.path)} onClose={onClose}>
      <form class="share-form" onSubmit={onSubmit}>
        {known === undefined && unread === undefined && <p class="muted">Reading what would be lost…</p>}
        {known !== undefined && <Losses losses={known} branch={branch} />}
        {worktree.isFollowed && <p>Follow mode ends: the main worktree keeps the branch.</p>}
        {running > 0 && (
          <p>{counted(running, "session")} still running here: the folder goes away under it.</p>
        )}
        <Failure words={unread ?? failure} />
        <div class="confirm-buttons">
          <Button onClick={onClose}>Cancel</Button>
          <button type="submit" class="button danger" disabled={isBusy || known === undefined}>
            Delete
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Losses({ losses, branch }: { readonly losses: WorktreeLosses; readonly branch: string }): VNode {
  const words = lossWords(losses);
  const total = losses.changed + losses.untracked + losses.ignored;
  return (
    <>
      {words.length === 0 && <p>Nothing is lost: everything in it is committed.</p>}
      {words.length > 0 && (
        <ul class="losses">
          {words.map((line) => (
            <li key={line}>
              <Icon name="warning" />
              {line}
            </li>
          ))}
        </ul>
      )}
      {losses.files.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard.
        <ul class="loss-files mono" aria-label="Files that are lost" tabIndex={0}>
          {losses.files.map(({ path, kind }) => (
            <li key={path}>
              {path} <span class="muted">{kind}</span>
            </li>
          ))}
          {total > losses.files.length && <li class="muted">and {total - losses.files.length} more</li>}
        </ul>
      )}
      <p class="muted">{keptWords(branch, losses)}</p>
    </>
  );
}
