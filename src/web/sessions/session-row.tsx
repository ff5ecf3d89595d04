import type { VNode } from "preact";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Icon } from "../components/icon.tsx";
import { Branch } from "../session/branch.tsx";
import {
  ageWords,
  commandWords,
  detailWords,
  endingBadge,
  endingTone,
  folderWords,
  nameWords,
} from "../session/words.ts";

type SessionRowProps = WorkspaceProps & {
  readonly record: SessionRecord;
  /** Whether its machine is offline. */
  readonly isAway?: boolean;
  /** Shows its machine, if the list is not grouped by machine. */
  readonly hasMachine?: boolean;
};

export function SessionRow({
  page,
  workspace,
  record,
  isAway = false,
  hasMachine = false,
}: SessionRowProps): VNode {
  const { panes } = workspace;
  const isOpen = panes.focused.value?.id === record.id;
  const isInSight = panes.open.value.has(record.id);
  const since = record.exitedAt ?? record.created;
  const detail = detailWords(record);
  return (
    <li>
      <a
        class={isAway ? "row away" : "row"}
        {...panes.linkTo(record.id)}
        {...(isInSight && { "aria-current": isOpen ? "page" : "true" })}
      >
        <div class="row-line">
          <Status record={record} isAway={isAway} />
          <span class="row-name" title={record.name}>
            {nameWords(record)}
          </span>
          {workspace.sessions.rung.value.has(record.id) && (
            <span class="row-bell" title="Bell">
              <Icon name="bell" />
            </span>
          )}
          <Branch git={record} />
          <time class="row-age" dateTime={since} title={new Date(since).toLocaleString()}>
            {ageWords(Date.parse(since), page.clock.now.value)}
          </time>
        </div>
        <div class="row-line">
          {detail !== "" && (
            <span class="row-detail" title={commandWords(record.command)}>
              {detail}
            </span>
          )}
          {record.owner !== undefined && workspace.sessions.haveOwners.value && (
            <span class="row-owner" title={`The session of ${record.owner}`}>
              {record.owner}
            </span>
          )}
          {hasMachine && record.source !== undefined && <span class="row-owner">{record.source}</span>}
          <span class="row-folder" title={record.cwd}>
            {folderWords(record.cwd)}
          </span>
        </div>
      </a>
    </li>
  );
}

/** A dot for running sessions, a badge for the end of others. */
export function Status({
  record,
  isAway,
}: {
  readonly record: SessionRecord;
  readonly isAway: boolean;
}): VNode {
  if (record.status !== "exited") {
    const words = isAway ? "offline" : "running";
    return <span class={`dot ${isAway ? "unknown" : "open"}`} role="img" aria-label={words} />;
  }
  const tone = endingTone(record) === "bad" ? "bad" : "neutral";
  return <span class={`badge ${tone}`}>{endingBadge(record)}</span>;
}
