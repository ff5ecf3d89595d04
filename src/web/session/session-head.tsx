import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { routeHash } from "../app/route.ts";
import type { SessionProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/confirm.tsx";
import { Icon } from "../components/icon.tsx";
import { Branch } from "./branch.tsx";
import { NameField } from "./name-field.tsx";
import { recordingWords } from "./recording-words.ts";
import { SessionMenu } from "./session-menu.tsx";
import { accessWords } from "./sharing/share-words.ts";
import { Viewers } from "./sharing/viewers.tsx";
import { commandWords, detailWords, folderWords, nameWords } from "./words.ts";

type SessionHeadProps = SessionProps & {
  /** Undefined while the terminal is covered. */
  readonly onSearch?: () => void;
};

export function SessionHead({ page, workspace, open, onSearch }: SessionHeadProps): VNode {
  // Reading the list signal keeps the head up to date.
  const record = workspace.sessions.record(open.id);
  const phase = open.phase.value.kind;
  const detail = record && (open.title.value ?? detailWords(record));
  return (
    <header class="session-head">
      {!workspace.isGuests && (
        <a class="button ghost back" href={routeHash({ view: "list" })} aria-label="All sessions">
          <Icon name="back" />
        </a>
      )}
      <div class="session-names">
        {record !== undefined && <Name workspace={workspace} open={open} record={record} />}
        {record !== undefined && (
          <p class="session-detail" title={placeWords(record)}>
            {record.access !== undefined && (
              <span class="badge shared">
                shared with you {accessWords({ mode: phase === "watching" ? "view" : record.access })}
              </span>
            )}
            {record.access === undefined && phase === "watching" && (
              <span class="badge shared">to watch</span>
            )}
            {record.source !== undefined && (
              <span class="session-machine">
                <Icon name="machine" />
                {record.source}
              </span>
            )}
            {detail !== "" && <span class="session-program">{detail}</span>}
            {record.cwd !== "" && <span class="session-folder">{folderWords(record.cwd)}</span>}
            <BranchLink workspace={workspace} record={record} />
            <RecordingMark record={record} />
          </p>
        )}
      </div>
      <div class="session-tools">
        <Viewers workspace={workspace} open={open} />
        {onSearch !== undefined && (
          <Button
            kind="ghost"
            icon="search"
            label="Search"
            title="Search (Ctrl+Shift+F)"
            onClick={onSearch}
          />
        )}
        {phase === "running" && (
          <Button
            kind="ghost wide-only"
            icon="history"
            label="Go back in time"
            {...(!workspace.isGuests && { title: "Go back in time (Ctrl+Shift+H)" })}
            onClick={() => workspace.panes.goBackInTime(open.id)}
          />
        )}
        <SessionMenu page={page} workspace={workspace} open={open} record={record} />
        {record !== undefined && workspace.permissions.has("sessions:manage") && (
          <EndButton workspace={workspace} record={record} />
        )}
      </div>
    </header>
  );
}

/** Guests see neither. */
function placeWords({ command, cwd }: SessionRecord): string | undefined {
  return command.length === 0 ? undefined : `${commandWords(command)} in ${cwd}`;
}

type RecordProps = Pick<SessionProps, "workspace"> & { readonly record: SessionRecord };

/** A field for users who may rename it. */
function Name({ workspace, open, record }: RecordProps & Pick<SessionProps, "open">): VNode {
  if (workspace.permissions.has("sessions:manage")) {
    return (
      <NameField
        record={record}
        onRename={(name) => void workspace.rename(record, name)}
        onLeave={() => open.emulator.focus()}
      />
    );
  }
  return (
    <h1 class="session-name">
      <span title={record.name}>{nameWords(record)}</span>
    </h1>
  );
}

/** Links to the worktrees, for users who may use repositories. */
function BranchLink({ workspace, record }: RecordProps): VNode {
  if (record.gitRepoPath === undefined || !workspace.permissions.has("repositories:use")) {
    return <Branch git={record} />;
  }
  return (
    <a
      class="branch-link"
      href={routeHash({ view: "worktrees", id: record.id })}
      aria-label={`Worktrees (${record.gitBranch || "detached"})`}
    >
      <Branch git={record} />
    </a>
  );
}

/** Only for an incomplete recording. */
function RecordingMark({ record }: { readonly record: SessionRecord }): VNode | undefined {
  const words = recordingWords(record);
  if (words === undefined) return undefined;
  return (
    <span class="recording-mark" role="note" title={words.title} aria-label={`${words.mark}: ${words.title}`}>
      <Icon name="warning" />
      <span>{words.mark}</span>
    </span>
  );
}

const DETAILS = {
  End: "Its programs get SIGHUP, and SIGKILL if they still run after three seconds. The recording is kept.",
  Remove: "Its recording is deleted permanently.",
} as const;

/** Ends a running session or removes an ended one, after a confirmation. */
function EndButton({ workspace, record }: RecordProps): VNode {
  // Stays the same when the session ends while the question is open.
  const question = useSignal<keyof typeof DETAILS | undefined>(undefined);
  const asked = question.value;
  const isEnded = record.status === "exited";
  const word = isEnded ? "Remove" : "End";
  const ask = (): void => {
    question.value = word;
  };
  const close = (): void => {
    question.value = undefined;
  };
  return (
    <>
      <Button kind="danger-quiet" icon={isEnded ? "trash" : "stop"} label={word} onClick={ask}>
        <span class="wide-only">{word}</span>
      </Button>
      {asked && (
        <Confirm
          question={`${asked} “${nameWords(record)}”?`}
          detail={DETAILS[asked]}
          yes={asked}
          onYes={() => void (asked === "End" ? workspace.end(record) : workspace.remove(record))}
          onClose={close}
        />
      )}
    </>
  );
}
