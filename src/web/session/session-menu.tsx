import type { ComponentChildren, VNode } from "preact";
import { useRef } from "preact/hooks";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { routeHash } from "../app/route.ts";
import type { SessionProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { lazy } from "../components/lazy.tsx";
import { useToggle } from "../components/toggle.ts";
import type { Uploads } from "../files/uploads.ts";
import type { Panes } from "../layout/panes.ts";
import { Settings } from "../settings/settings.tsx";
import { useDismissal } from "./dismissal.ts";
import { ShareDialog } from "./sharing/share-dialog.tsx";

type SessionMenuProps = SessionProps & { readonly record: SessionRecord | undefined };

export function SessionMenu({ page, workspace, open, record }: SessionMenuProps): VNode {
  const menu = useToggle();
  const login = page.login.state.value;
  // Without logins everybody sees every session.
  const isOpenToAll = login.kind === "in" && login.access.kind === "open";
  const mayShare = workspace.permissions.has("sessions:manage") && !isOpenToAll;
  const root = useRef<HTMLDivElement>(null);
  const close = (): void => {
    menu.off();
    open.emulator.focus();
  };
  const sharing = useToggle();
  const settings = useToggle();
  useDismissal(root, menu.isOn, close);
  const downloading = useToggle();
  const mayHaveFiles = record !== undefined && workspace.permissions.has("sessions:files");
  // A closing dialog returns the focus to its previous owner, but the event for that comes after the next key.
  const closing = (act: () => void) => (): void => {
    close();
    act();
  };
  return (
    <div class="menu-root" ref={root}>
      <Button kind="ghost" icon="more" label="More" aria-expanded={menu.isOn} onClick={menu.flip} />
      {menu.isOn && (
        <div class="menu" ref={keepInWindow}>
          {record !== undefined && mayShare && (
            <MenuItem icon="share" onClick={closing(sharing.on)}>
              Share…
            </MenuItem>
          )}
          {mayHaveFiles && open.phase.value.kind === "running" && (
            <MenuItem icon="upload" onClick={closing(() => chooseFiles(open.uploads))}>
              Send a file…
            </MenuItem>
          )}
          {mayHaveFiles && (
            <MenuItem icon="download" onClick={closing(downloading.on)}>
              Download a file…
            </MenuItem>
          )}
          {record?.gitRepoPath !== undefined && workspace.permissions.has("repositories:use") && (
            <a class="menu-item" href={routeHash({ view: "worktrees", id: record.id })}>
              <Icon name="branch" />
              Worktrees and follow mode
            </a>
          )}
          {record !== undefined && <Actions workspace={workspace} record={record} closing={closing} />}
          {!workspace.isGuests && (
            <LayoutItems panes={workspace.panes} isNarrow={page.narrow.matches.value} onDone={menu.off} />
          )}
          <MenuItem icon="settings" onClick={closing(settings.on)}>
            Settings…
          </MenuItem>
          <p class="menu-hint">
            <kbd>Ctrl</kbd> <kbd>Shift</kbd> + <kbd>C</kbd> copies, <kbd>V</kbd> pastes, <kbd>F</kbd> searches
            {!workspace.isGuests && (
              <>
                , <kbd>H</kbd> goes back in time, <kbd>K</kbd> finds a session, <kbd>↓</kbd> <kbd>↑</kbd> open
                the next and the previous one, <kbd>L</kbd> goes to the list, <kbd>E</kbd> <kbd>O</kbd> split,{" "}
                <kbd>←</kbd> <kbd>→</kbd> move between panes
              </>
            )}
            .
          </p>
        </div>
      )}
      {record !== undefined && downloading.isOn && (
        <Download page={page} workspace={workspace} record={record} onClose={downloading.off} />
      )}
      {settings.isOn && <Settings page={page} onClose={settings.off} />}
      {record !== undefined && sharing.isOn && (
        <ShareDialog page={page} workspace={workspace} open={open} record={record} onClose={sharing.off} />
      )}
    </div>
  );
}

type MenuItemProps = {
  readonly icon?: IconName;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
};

function MenuItem({ icon, onClick, children }: MenuItemProps): VNode {
  return (
    <button type="button" class="menu-item" onClick={onClick}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** Opens the browser's file dialog. */
function chooseFiles(uploads: Uploads): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.onchange = () => uploads.send(input.files ?? []);
  input.click();
}

const Download = lazy(
  "The dialog",
  async () => (await import("../files/download-dialog.tsx")).DownloadDialog,
);

type ActionsProps = Pick<SessionProps, "workspace"> & {
  readonly record: SessionRecord;
  /** Closes the menu first. */
  readonly closing: (act: () => void) => () => void;
};

const SIGNALS = [
  { name: "SIGINT", words: "Interrupt" },
  { name: "SIGTERM", words: "Terminate" },
  { name: "SIGKILL", words: "Kill" },
] as const;

function Actions({ workspace, record, closing }: ActionsProps): VNode {
  const isRunning = record.status !== "exited";
  return (
    <>
      <MenuItem icon="play" onClick={closing(() => workspace.panes.show(record.id, 0))}>
        Play the recording
      </MenuItem>
      {isRunning && (
        <MenuItem icon="history" onClick={closing(() => workspace.panes.goBackInTime(record.id))}>
          Go back in time
        </MenuItem>
      )}
      <MenuItem icon="download" onClick={closing(() => void workspace.download(record))}>
        Download the recording
      </MenuItem>
      {isRunning &&
        workspace.permissions.has("sessions:manage") &&
        SIGNALS.map(({ name, words }) => (
          <MenuItem key={name} onClick={closing(() => void workspace.signal(record, name))}>
            <span class="menu-signal">{words}</span>
            <code>{name}</code>
          </MenuItem>
        ))}
    </>
  );
}

type LayoutItemsProps = {
  readonly panes: Panes;
  readonly isNarrow: boolean;
  readonly onDone: () => void;
};

/** Other panes and tabs beside this one. */
function LayoutItems({ panes, isNarrow, onDone }: LayoutItemsProps): VNode {
  // The new pane takes the focus.
  const closing = (act: () => void) => (): void => {
    onDone();
    act();
  };
  return (
    <>
      {!isNarrow && (
        <>
          <MenuItem icon="splitRight" onClick={closing(() => panes.split("row"))}>
            Split right
          </MenuItem>
          <MenuItem icon="splitDown" onClick={closing(() => panes.split("column"))}>
            Split down
          </MenuItem>
        </>
      )}
      <MenuItem icon="tab" onClick={closing(() => panes.addTab())}>
        New tab
      </MenuItem>
      {panes.areSeveral && (
        <MenuItem icon="close" onClick={closing(() => panes.closeFocused())}>
          Close pane
        </MenuItem>
      )}
    </>
  );
}

/** Moves a menu up that would leave the window at its bottom, as in a low pane. */
function keepInWindow(menu: HTMLElement | null): void {
  if (menu === null) return;
  const { top, bottom } = menu.getBoundingClientRect();
  const excess = Math.min(bottom - window.innerHeight, top) + MARGIN_PX;
  if (excess > 0) menu.style.translate = `0 ${-excess}px`;
}

const MARGIN_PX = 8;
