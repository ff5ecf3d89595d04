import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { routeHash } from "../app/route.ts";
import type { SessionProps, WorkspaceProps } from "../app/view-props.ts";
import { Icon } from "../components/icon.tsx";
import { useLoaded } from "../components/loaded.ts";
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
      <button
        type="button"
        class="button ghost"
        aria-label="More"
        aria-expanded={menu.isOn}
        onClick={menu.flip}
      >
        <Icon name="more" />
      </button>
      {menu.isOn && (
        <div class="menu" ref={keepInWindow}>
          {record !== undefined && mayShare && <ShareItem onClick={closing(sharing.on)} />}
          {mayHaveFiles && <FileItems open={open} closing={closing} onDownload={downloading.on} />}
          {record?.gitRepoPath !== undefined && workspace.permissions.has("repositories:use") && (
            <a class="menu-item" href={routeHash({ view: "worktrees", id: record.id })}>
              <Icon name="branch" />
              Worktrees and follow mode
            </a>
          )}
          {record !== undefined && <Actions workspace={workspace} record={record} onDone={close} />}
          {!workspace.isGuests && (
            <LayoutItems panes={workspace.panes} isNarrow={page.narrow.matches.value} onDone={menu.off} />
          )}
          <button type="button" class="menu-item" onClick={closing(settings.on)}>
            <Icon name="settings" />
            Settings…
          </button>
          <p class="menu-hint">
            <kbd>Ctrl</kbd> <kbd>Shift</kbd> + <kbd>C</kbd> copies, <kbd>V</kbd> pastes, <kbd>F</kbd>{" "}
            searches, <kbd>H</kbd> goes back in time, <kbd>K</kbd> finds a session, <kbd>↓</kbd> <kbd>↑</kbd>{" "}
            open the next and the previous one, <kbd>L</kbd> goes to the list, <kbd>E</kbd> <kbd>O</kbd>{" "}
            split, <kbd>←</kbd> <kbd>→</kbd> move between panes.
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

type FileItemsProps = Pick<SessionProps, "open"> & {
  /** Closes the menu first. */
  readonly closing: (act: () => void) => () => void;
  readonly onDownload: () => void;
};

function FileItems({ open, closing, onDownload }: FileItemsProps): VNode {
  return (
    <>
      {open.phase.value.kind === "running" && (
        <button type="button" class="menu-item" onClick={closing(() => chooseFiles(open.uploads))}>
          <Icon name="upload" />
          Send a file…
        </button>
      )}
      <button type="button" class="menu-item" onClick={closing(onDownload)}>
        <Icon name="download" />
        Download a file…
      </button>
    </>
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

type DownloadProps = WorkspaceProps & { readonly record: SessionRecord; readonly onClose: () => void };

/** Loads the dialog at first use. */
function Download({ page, ...props }: DownloadProps): VNode | undefined {
  const code = useLoaded(
    () => import("../files/download-dialog.tsx"),
    (error) => page.notices.failed("The dialog did not load; reload the page", error),
  );
  return code && <code.DownloadDialog {...props} />;
}

function ShareItem({ onClick }: { readonly onClick: () => void }): VNode {
  return (
    <button type="button" class="menu-item" onClick={onClick}>
      <Icon name="share" />
      Share…
    </button>
  );
}

type ActionsProps = Pick<SessionProps, "workspace"> & {
  readonly record: SessionRecord;
  readonly onDone: () => void;
};

const SIGNALS = [
  { name: "SIGINT", words: "Interrupt" },
  { name: "SIGTERM", words: "Terminate" },
  { name: "SIGKILL", words: "Kill" },
] as const;

function Actions({ workspace, record, onDone }: ActionsProps): VNode {
  const act = (action: () => Promise<void>) => () => {
    onDone();
    void action();
  };
  return (
    <>
      <button
        type="button"
        class="menu-item"
        onClick={() => {
          onDone();
          workspace.panes.show(record.id, 0);
        }}
      >
        <Icon name="play" />
        Play the recording
      </button>
      {record.status !== "exited" && (
        <button
          type="button"
          class="menu-item"
          onClick={() => {
            onDone();
            workspace.panes.goBackInTime(record.id);
          }}
        >
          <Icon name="history" />
          Go back in time
        </button>
      )}
      <button type="button" class="menu-item" onClick={act(() => workspace.download(record))}>
        <Icon name="download" />
        Download the recording
      </button>
      {record.status !== "exited" &&
        workspace.permissions.has("sessions:manage") &&
        SIGNALS.map(({ name, words }) => (
          <button
            key={name}
            type="button"
            class="menu-item"
            onClick={act(() => workspace.signal(record, name))}
          >
            <span class="menu-signal">{words}</span>
            <code>{name}</code>
          </button>
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
  const items = [
    ...(isNarrow
      ? []
      : [
          { words: "Split right", icon: "splitRight", act: () => panes.split("row") } as const,
          { words: "Split down", icon: "splitDown", act: () => panes.split("column") } as const,
        ]),
    { words: "New tab", icon: "tab", act: () => panes.addTab() } as const,
    ...(panes.areSeveral
      ? [{ words: "Close pane", icon: "close", act: () => panes.closeFocused() } as const]
      : []),
  ];
  return (
    <>
      {items.map(({ words, icon, act }) => (
        <button
          key={words}
          type="button"
          class="menu-item"
          onClick={() => {
            onDone();
            act();
          }}
        >
          <Icon name={icon} />
          {words}
        </button>
      ))}
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
