import type { VNode } from "preact";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { groupByMachine, type MachineGroup } from "../machines/machine-group.ts";
import type { Machine } from "../machines/machine-list.ts";
import { RemoveEnded } from "./remove-ended.tsx";
import { Rows } from "./rows.tsx";
import { SessionRow } from "./session-row.tsx";

type SessionGroupsProps = WorkspaceProps & {
  readonly machines: readonly Machine[];
  readonly sessions: readonly SessionRecord[];
};

/** The sessions of an HQ, under their machines. */
export function SessionGroups({ page, workspace, machines, sessions }: SessionGroupsProps): VNode {
  const isFiltered = workspace.filter.isOn.value;
  const remembered = isFiltered ? [] : workspace.sessions.remembered.value;
  const groups = groupByMachine(machines, sessions, remembered).filter(
    (group) => !isFiltered || group.sessions.length > 0,
  );
  const ended = sessions.filter(({ status }) => status === "exited");
  return (
    <nav class="sessions" aria-label="Sessions">
      {machines.length === 0 && (
        <p class="empty">
          No machine has joined yet.{" "}
          {workspace.permissions.has("remotes:manage") && (
            <a class="text-link" href={routeHash({ view: "new" })}>
              Add one
            </a>
          )}
        </p>
      )}
      {groups.map((group) => (
        <Group key={group.machine.name} page={page} workspace={workspace} group={group} />
      ))}
      {isFiltered && groups.length === 0 && <p class="empty">No session matches.</p>}
      {ended.length > 0 && (
        <p class="sessions-foot">
          {ended.length} ended
          {workspace.permissions.has("sessions:manage") && (
            <RemoveEnded workspace={workspace} ended={ended} />
          )}
        </p>
      )}
    </nav>
  );
}

function Group({ page, workspace, group }: WorkspaceProps & { readonly group: MachineGroup }): VNode {
  const { machine, sessions } = group;
  const { name, isHere, isCordoned, hidden } = machine;
  const state = isCordoned ? "cordoned" : "online";
  return (
    <section class={isHere ? "machine" : "machine away"} aria-label={name}>
      <details open>
        <summary title={machine.url ?? "The sessions of the HQ itself"}>
          <Icon name="machine" />
          <h2>{name}</h2>
          <span class="count" title={countWords(sessions)}>
            {sessions.length}
          </span>
          <span class={isHere ? "machine-state here" : "machine-state"}>{isHere ? state : "offline"}</span>
        </summary>
        <Rows
          records={sessions}
          current={workspace.panes.focused.value?.id}
          row={(record) => (
            <SessionRow key={record.id} page={page} workspace={workspace} record={record} isAway={!isHere} />
          )}
        />
        {hidden > 0 && <p class="empty">{hiddenWords(hidden)}</p>}
      </details>
      <GroupAction page={page} workspace={workspace} machine={machine} />
    </section>
  );
}

/** Starts another session on a present machine; forgets an absent machine. */
function GroupAction({
  page,
  workspace,
  machine,
}: WorkspaceProps & { readonly machine: Machine }): VNode | undefined {
  const { name, isHere } = machine;
  if (!isHere) {
    const label = `Hide ${name}`;
    return (
      <Button
        kind="ghost small"
        icon="close"
        label={label}
        title={label}
        onClick={() => workspace.machines.forget(name)}
      />
    );
  }
  if (!workspace.permissions.has("sessions:create")) return undefined;
  const label = `New session on ${name}`;
  return (
    <a
      class="button ghost small"
      href={routeHash({ view: "new" })}
      aria-label={label}
      title={label}
      onClick={() => page.preferences.change({ machine: name })}
    >
      <Icon name="plus" />
    </a>
  );
}

function countWords(sessions: readonly SessionRecord[]): string {
  const ended = sessions.filter(({ status }) => status === "exited").length;
  return `${sessions.length - ended} running, ${ended} ended`;
}

function hiddenWords(count: number): string {
  return count === 1
    ? "1 session is not shown because another machine has a session with the same id."
    : `${count} sessions are not shown because other machines have sessions with the same ids.`;
}
