import type { VNode } from "preact";
import type { WorktreeRecord } from "../../protocol/schemas/git.ts";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { useToggle } from "../components/toggle.ts";
import { folderWords } from "../session/words.ts";
import { estimateSize } from "../terminal/emulator/cell-size.ts";
import { FollowDialog } from "./follow-section.tsx";
import { RemoveDialog } from "./remove-dialog.tsx";
import type { Repository, RepositoryState } from "./repository.ts";
import { branchName, counted, statsWords } from "./worktree-words.ts";

type WorktreeRowProps = WorkspaceProps & {
  readonly repository: Repository;
  readonly state: RepositoryState;
  readonly worktree: WorktreeRecord;
  /** The machine of the repository. */
  readonly source: string | undefined;
};

export function WorktreeRow({
  page,
  workspace,
  repository,
  state,
  worktree,
  source,
}: WorktreeRowProps): VNode {
  const { path, isMain, isFollowed, prunable, locked } = worktree;
  const branch = branchName(worktree);
  const running = (workspace.sessions.all.value ?? []).filter(
    (record) => record.gitRepoPath === path && record.source === source && record.status !== "exited",
  ).length;
  const following = useToggle();
  const removing = useToggle();
  const details = [
    statsWords(worktree, state.list.baseBranch),
    ...(running > 0 ? [counted(running, "running session")] : []),
  ].filter((words) => words !== "");
  return (
    <li class="card" aria-label={branch || path}>
      <Icon name={isMain ? "folder" : "branch"} />
      <div class="card-text">
        <p class="card-title">
          <strong class="mono">{branch || "detached"}</strong>
          <Badges worktree={worktree} />
        </p>
        <p class="muted mono card-path" title={path}>
          {folderWords(path)}
        </p>
        {details.length > 0 && <p class="muted">{details.join(" · ")}</p>}
      </div>
      <div class="card-actions">
        {!isMain && !isFollowed && branch !== "" && !prunable && (
          <Button kind="small" label={`Follow ${branch}`} onClick={following.on}>
            Follow…
          </Button>
        )}
        {workspace.permissions.has("sessions:create") && !prunable && !worktree.bare && (
          <StartButton
            page={page}
            workspace={workspace}
            path={path}
            source={source}
            branch={branch || path}
          />
        )}
        {!isMain && branch !== "" && !prunable && !locked && (
          <Button
            kind="danger-quiet small"
            icon="trash"
            label={`Delete the worktree ${branch}`}
            onClick={removing.on}
          >
            Delete…
          </Button>
        )}
      </div>
      {following.isOn && <FollowDialog repository={repository} branch={branch} onClose={following.off} />}
      {removing.isOn && (
        <RemoveDialog repository={repository} worktree={worktree} running={running} onClose={removing.off} />
      )}
    </li>
  );
}

function Badges({ worktree }: Pick<WorktreeRowProps, "worktree">): VNode {
  const { isMain, isCurrent, isFollowed, locked, lockedReason, prunable, hasUncommittedChanges } = worktree;
  return (
    <>
      {isMain && <span class="badge">main worktree</span>}
      {isCurrent && <span class="badge">this session</span>}
      {isFollowed && <span class="badge good">followed</span>}
      {locked && (
        <span class="badge" title={lockedReason}>
          locked
        </span>
      )}
      {prunable && <span class="badge bad">folder is gone</span>}
      {hasUncommittedChanges && <span class="badge warn">uncommitted changes</span>}
    </>
  );
}

type StartButtonProps = WorkspaceProps & {
  readonly path: string;
  readonly source: string | undefined;
  readonly branch: string;
};

/** A login shell in the worktree. */
function StartButton({ page, workspace, path, source, branch }: StartButtonProps): VNode {
  const start = (): void => {
    const machine = workspace.machines.all.peek()?.find(({ name }) => name === (source ?? LOCAL));
    const size = estimateSize(
      document.querySelector(".stage") ?? document.body,
      page.preferences.current.peek(),
    );
    const request = { cwd: path, ...size, ...(machine && { remoteId: machine.id }) };
    void page.notices.attempt("The session was not started", () => workspace.start(request));
  };
  return (
    <Button kind="small" label={`New session in ${branch}`} onClick={start}>
      New session
    </Button>
  );
}
