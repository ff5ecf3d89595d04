import type { RefObject, VNode } from "preact";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { Avatar } from "../account/avatar.tsx";
import { PasskeyDialog } from "../account/passkey-dialog.tsx";
import { routeHash } from "../app/route.ts";
import type { UserAccess, WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Icon, type IconName, Logo } from "../components/icon.tsx";
import { useToggle } from "../components/toggle.ts";
import { Settings } from "../settings/settings.tsx";
import { ListTools } from "./list-tools.tsx";
import { RemoveEnded } from "./remove-ended.tsx";
import { Rows } from "./rows.tsx";
import { SessionGroups } from "./session-groups.tsx";
import { SessionRow } from "./session-row.tsx";

type SidebarProps = WorkspaceProps & {
  readonly access: UserAccess;
  readonly root: RefObject<HTMLDivElement | null>;
};

export function Sidebar({ page, workspace, access, root }: SidebarProps): VNode {
  const profile = access.kind === "known" ? access.profile : undefined;
  // Like workspace.css: on a narrow screen only the list is shown.
  const isAlone = page.address.route.value.view === "list" && page.narrow.matches.value;
  // Another element would be drawn anew, and the list would lose its scroll position.
  const landmark = isAlone ? "main" : "complementary";
  const Title = isAlone ? "h1" : "span";
  return (
    <div class="sidebar" role={landmark} ref={root}>
      <div class="sidebar-head">
        <a href={routeHash({ view: "list" })} class="brand" aria-label="ttyhq, all sessions">
          <Logo />
          <Title class="brand-name">ttyhq</Title>
        </a>
        <ViewLink view="previews" label="Previews" title="Previews of all sessions" icon="grid" />
        {workspace.machines.all.value !== undefined && (
          <ViewLink view="machines" label="Machines" icon="machine" />
        )}
        {workspace.permissions.has("sessions:create") && (
          <a class="button primary small" href={routeHash({ view: "new" })}>
            <Icon name="plus" />
            New session
          </a>
        )}
      </div>
      <ListTools page={page} workspace={workspace} />
      <SessionLists page={page} workspace={workspace} />
      <div class="sidebar-foot">
        <ConnectionDot workspace={workspace} />
        <Avatar user={access.user} picture={profile?.profilePic} />
        <span class="sidebar-user" title={`Logged in as ${access.user}`}>
          {profile?.name ?? access.user}
        </span>
        <DialogButton
          label="Settings"
          icon="settings"
          dialog={(onClose) => <Settings page={page} onClose={onClose} />}
        />
        {access.kind !== "open" && <ViewLink view="account" label="Logins and links" icon="share" />}
        {workspace.permissions.has("audit:view") && <ViewLink view="audit" label="Audit log" icon="list" />}
        {access.kind === "login" && (
          <>
            <DialogButton
              label="Passkeys"
              icon="key"
              dialog={(onClose) => <PasskeyDialog client={workspace.client} onClose={onClose} />}
            />
            <Button
              kind="ghost small"
              icon="exit"
              label="Log out"
              title="Log out"
              onClick={() => void page.login.logOut()}
            />
          </>
        )}
        {access.kind === "known" && access.logoutPath !== undefined && (
          <a class="button ghost small" href={access.logoutPath} aria-label="Log out" title="Log out">
            <Icon name="exit" />
          </a>
        )}
      </div>
    </div>
  );
}

type ViewLinkProps = {
  readonly view: "account" | "audit" | "machines" | "previews";
  readonly label: string;
  readonly title?: string;
  readonly icon: IconName;
};

function ViewLink({ view, label, title = label, icon }: ViewLinkProps): VNode {
  return (
    <a class="button ghost small" href={routeHash({ view })} aria-label={label} title={title}>
      <Icon name={icon} />
    </a>
  );
}

type DialogButtonProps = {
  readonly label: string;
  readonly icon: IconName;
  readonly dialog: (onClose: () => void) => VNode;
};

function DialogButton({ label, icon, dialog }: DialogButtonProps): VNode {
  const toggle = useToggle();
  return (
    <>
      <Button kind="ghost small" icon={icon} label={label} title={label} onClick={toggle.on} />
      {toggle.isOn && dialog(toggle.off)}
    </>
  );
}

function ConnectionDot({ workspace }: Pick<WorkspaceProps, "workspace">): VNode {
  const { kind } = workspace.connection.value;
  const words = kind === "open" ? "connected" : "not connected";
  return <span class={`dot ${kind}`} role="img" aria-label={words} title={words} />;
}

function SessionLists({ page, workspace }: WorkspaceProps): VNode {
  const shown = workspace.filter.shown.value;
  const { isKnown, all: machines } = workspace.machines;
  if (shown === undefined || !isKnown.value) return <div class="sessions" aria-busy="true" />;
  const isHq = machines.value !== undefined;
  if (isHq && page.preferences.current.value.order === "machine") {
    return <SessionGroups page={page} workspace={workspace} machines={machines.value} sessions={shown} />;
  }
  const running = shown.filter((record) => record.status !== "exited");
  const ended = shown.filter((record) => record.status === "exited");
  const rows = (records: readonly SessionRecord[]): VNode => (
    <Rows
      records={records}
      current={workspace.panes.focused.value?.id}
      row={(record) => (
        <SessionRow key={record.id} page={page} workspace={workspace} record={record} hasMachine={isHq} />
      )}
    />
  );
  return (
    <nav class="sessions" aria-label="Sessions">
      <h2>
        Running <span class="count">{running.length}</span>
      </h2>
      {running.length === 0 && <p class="empty">{emptyWords(workspace)}</p>}
      {rows(running)}
      {ended.length > 0 && (
        <>
          <h2>
            Ended <span class="count">{ended.length}</span>
            {workspace.permissions.has("sessions:manage") && (
              <RemoveEnded workspace={workspace} ended={ended} />
            )}
          </h2>
          {rows(ended)}
        </>
      )}
    </nav>
  );
}

function emptyWords({ filter, permissions }: WorkspaceProps["workspace"]): string {
  if (filter.isOn.value) return "No running session matches.";
  return permissions.has("sessions:create")
    ? "No sessions yet. Start one: it keeps running after you leave."
    : "No sessions.";
}
