// Follow mode: the followed worktree, the effects of following, and past actions.
import type { VNode } from "preact";
import type { Page } from "../app/page.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure } from "../components/failure.tsx";
import { Icon } from "../components/icon.tsx";
import { useServerValue } from "../components/loaded.ts";
import { useSubmission } from "../components/submission.ts";
import { useToggle } from "../components/toggle.ts";
import { sentence } from "../sentence.ts";
import { agoWords, folderWords } from "../session/words.ts";
import type { Repository, RepositoryState } from "./repository.ts";

type FollowSectionProps = {
  readonly page: Page;
  readonly repository: Repository;
  readonly state: RepositoryState;
};

export function FollowSection({ page, repository, state }: FollowSectionProps): VNode {
  const { enabled, branch, worktreePath = "" } = state.follow;
  const ending = useToggle();
  return (
    <section class="follow" aria-label="Follow mode">
      {enabled ? (
        <p class="follow-state on">
          <Icon name="again" />
          <span>
            The main worktree follows <strong class="mono">{branch ?? folderWords(worktreePath)}</strong>:
            commits and switches go both ways.
          </span>
          <Button kind="small" onClick={ending.on}>
            Stop following…
          </Button>
        </p>
      ) : (
        <p class="follow-state muted">
          <Icon name="again" />
          <span>Let the main worktree follow another one: its commits appear here, and yours go back.</span>
        </p>
      )}
      <News page={page} repository={repository} />
      {ending.isOn && <FollowDialog repository={repository} branch={undefined} onClose={ending.off} />}
    </section>
  );
}

function News({ page, repository }: Omit<FollowSectionProps, "state">): VNode | undefined {
  const news = repository.notifications.value;
  if (news.length === 0) return undefined;
  return (
    <ul class="follow-news" aria-label="Notifications of follow mode" aria-live="polite">
      {news.map(({ timestamp, level, message, title }) => (
        <li key={`${timestamp} ${message}`} class={level}>
          <Icon name={level === "error" ? "warning" : "check"} />
          <span>
            <strong>{title}</strong> {sentence(message)}
          </span>
          <time class="muted" dateTime={timestamp}>
            {agoWords(Date.parse(timestamp), page.clock.now.value)}
          </time>
        </li>
      ))}
    </ul>
  );
}

type FollowDialogProps = {
  readonly repository: Repository;
  /** Undefined: ends follow mode. */
  readonly branch: string | undefined;
  readonly onClose: () => void;
};

/** Shows the dry run before anything changes. */
export function FollowDialog({ repository, branch, onClose }: FollowDialogProps): VNode {
  const plan = useServerValue("It could not be read what would happen.", [], () =>
    repository.follow(branch, { dryRun: true }),
  );
  const { isBusy, failure, onSubmit } = useSubmission("Follow mode was not changed.", async () => {
    await repository.follow(branch, { dryRun: false });
    onClose();
  });
  return (
    <Dialog
      title={branch === undefined ? "Stop following?" : `Follow ${branch}?`}
      about={
        branch === undefined
          ? "The main worktree stays at its commit, on no branch, and the git hooks are removed."
          : "The main worktree goes to the commit of this worktree, and stays with it. Uncommitted changes are never overwritten."
      }
      onClose={onClose}
    >
      <form class="share-form" onSubmit={onSubmit}>
        {plan.value === undefined && plan.failure === undefined && (
          <p class="muted">Reading what would happen…</p>
        )}
        {plan.value !== undefined && (
          <section aria-label="What would happen">
            <h3>What would happen</h3>
            <ol class="steps">
              {plan.value.steps.map((step) => (
                <li key={step}>{sentence(step)}</li>
              ))}
            </ol>
          </section>
        )}
        <Failure words={plan.failure ?? failure} />
        <div class="confirm-buttons">
          <Button onClick={onClose}>Cancel</Button>
          <button type="submit" class="button primary" disabled={isBusy || plan.value === undefined}>
            {branch === undefined ? "Stop following" : "Follow"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
