import { useComputed, useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Failure } from "../components/failure.tsx";
import { useToggle } from "../components/toggle.ts";
import { ViewFrame } from "../components/view-frame.tsx";
import { failureSentence } from "../sentence.ts";
import { folderWords, nameWords } from "../session/words.ts";
import { CreateDialog, SwitchDialog } from "./change-dialogs.tsx";
import { FollowSection } from "./follow-section.tsx";
import { Repository } from "./repository.ts";
import { WorktreeRow } from "./worktree-row.tsx";

/** The worktrees of the repository of a session's folder. */
export function WorktreesView({ page, workspace }: WorkspaceProps): VNode {
  const route = page.address.route.value;
  const id = route.view === "worktrees" ? route.id : "";
  const record = workspace.sessions.record(id);
  const back = {
    href: routeHash(workspace.panes.routeTo(id)),
    words: record ? nameWords(record) : "Session",
  };
  if (record?.gitRepoPath === undefined) {
    const isKnown = workspace.sessions.all.value !== undefined;
    return (
      <ViewFrame title="Worktrees" back={back}>
        {isKnown && <p class="empty">The folder of this session is in no git repository.</p>}
      </ViewFrame>
    );
  }
  const place = { path: record.gitRepoPath, source: record.source };
  return (
    <RepositoryView
      key={JSON.stringify(place)}
      page={page}
      workspace={workspace}
      record={record}
      {...place}
      back={back}
    />
  );
}

type RepositoryViewProps = WorkspaceProps & {
  readonly record: SessionRecord;
  readonly path: string;
  readonly source: string | undefined;
  readonly back: { readonly href: string; readonly words: string };
};

function RepositoryView({ page, workspace, record, path, source, back }: RepositoryViewProps): VNode {
  const opened = useRepository(workspace, path, source);
  const repository = opened.value;
  const state = repository?.state.value;
  const failure = repository?.failure.value;
  const creating = useToggle();
  const switching = useToggle();
  useRepositoryChanges(workspace, record, () => opened.peek()?.refresh());
  const main = record.gitMainRepoPath ?? path;
  const about =
    source === undefined || source === LOCAL ? folderWords(main) : `${folderWords(main)} on ${source}`;
  const hasMissing = state?.list.worktrees.some(({ prunable }) => prunable) ?? false;
  return (
    <ViewFrame
      title="Worktrees"
      about={about}
      back={back}
      actions={
        state !== undefined && (
          <>
            <Button kind="small" icon="branch" onClick={switching.on}>
              Switch branch…
            </Button>
            <Button kind="primary small" icon="plus" onClick={creating.on}>
              New worktree…
            </Button>
          </>
        )
      }
    >
      <Failure
        words={
          failure === undefined ? undefined : failureSentence(failure, "The repository could not be read.")
        }
      />
      {repository !== undefined && state !== undefined && (
        <>
          <FollowSection page={page} repository={repository} state={state} />
          <ul class="cards" aria-label="Worktrees">
            {state.list.worktrees.map((worktree) => (
              <WorktreeRow
                key={worktree.path}
                {...{ page, workspace, source, worktree, state }}
                repository={repository}
              />
            ))}
          </ul>
          {hasMissing && <Prune page={page} repository={repository} />}
          {creating.isOn && <CreateDialog repository={repository} state={state} onClose={creating.off} />}
          {switching.isOn && <SwitchDialog repository={repository} state={state} onClose={switching.off} />}
        </>
      )}
    </ViewFrame>
  );
}

/** Removes worktrees whose folders are missing. */
function Prune({
  page,
  repository,
}: Pick<WorkspaceProps, "page"> & { readonly repository: Repository }): VNode {
  const prune = (): void =>
    void page.notices.attempt("The missing worktrees were not forgotten", () => repository.prune());
  return (
    <Button kind="small" onClick={prune}>
      Forget worktrees whose folders are gone
    </Button>
  );
}

/** The repository of this view; another path is another view. */
function useRepository(workspace: WorkspaceProps["workspace"], path: string, source: string | undefined) {
  const repository = useSignal<Repository | undefined>(undefined);
  useEffect(() => {
    const opened = new Repository({
      ...{
        caller: workspace.callerOf({ source }),
        path,
        client: `page-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`,
      },
      ...{ subscribe: (listener) => workspace.subscribe(listener), stage: document },
    });
    repository.value = opened;
    return () => opened[Symbol.dispose]();
  }, []);
  return repository;
}

/** The git status of any session in the repository changed. */
function useRepositoryChanges(
  workspace: WorkspaceProps["workspace"],
  { gitMainRepoPath, source }: SessionRecord,
  onChange: () => void,
): void {
  const status = useComputed(() =>
    JSON.stringify(
      (workspace.sessions.all.value ?? [])
        .filter((one) => one.gitMainRepoPath === gitMainRepoPath && one.source === source)
        .map((one) => [
          one.gitRepoPath,
          one.gitBranch,
          one.gitAheadCount,
          one.gitBehindCount,
          one.gitHasChanges,
        ]),
    ),
  );
  useEffect(onChange, [status.value]);
}
