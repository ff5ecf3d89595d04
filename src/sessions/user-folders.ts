// The folders of the sessions' users: only processes of these users open anything there, never the session host.
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import type { SavedFile } from "../protocol/schemas/file.ts";
import type { GitStatus } from "../protocol/schemas/session.ts";
import type { Content, NewFile } from "./backend.ts";
import { foregroundGroup } from "./pty/process-tree.ts";
import type { StoredSession } from "./storage/stored-session.ts";

/** A session in a folder, until its removal. */
export type FolderPresence = Disposable & {
  /** The last known git status; never waits. */
  readonly status: GitStatus | undefined;
  ended(): void;
};

export type StatusSource = AsyncDisposable & {
  /** A session of that system user, by default the host's own, is in the folder. */
  enter(
    place: { readonly cwd: string; readonly account: string | undefined },
    options: { readonly isLive: boolean; readonly onChange: () => void },
  ): FolderPresence;
  viewed(cwd: string): Disposable;
  /** A client lists the sessions. */
  asked(): void;
  on(listener: (event: ServerEvent) => void): Disposable;
};

export type SessionPlace = {
  /** The system user; `undefined`: the session host's own. */
  readonly account: string | undefined;
  /** The place is the current directory of the first that the user can read, else `workingDir`. */
  readonly pids: readonly number[];
  readonly workingDir: string;
};

export type UserFiles = {
  save(place: SessionPlace, file: NewFile, signal: AbortSignal): Promise<SavedFile>;
  open(place: SessionPlace, path: string, signal: AbortSignal): Promise<Content>;
};

/** For a session host without processes of the users. */
export const NO_FILES: UserFiles = { save: noTransfer, open: noTransfer };

async function noTransfer(): Promise<never> {
  throw new ServiceError("forbidden", "there is no file transfer here");
}

/** The foreground program's directory, then that of the session's own program. Throws `forbidden` if its user is unknown. */
export function placeOf(stored: StoredSession): SessionPlace {
  const { id, account, pid, cwd: workingDir, exit } = stored;
  if (isUserUnknown(stored)) {
    const message = `session ${id} is of a version that did not note its user: start a new one for files`;
    throw new ServiceError("forbidden", message);
  }
  // The pid of a program that has ended may be another program's.
  const pids = exit === undefined ? [foregroundGroup(pid) ?? pid, pid] : [];
  return { account, pids, workingDir };
}

/** Sessions of versions before 0.2 did not note their system user. */
export function isUserUnknown({ account, owner }: Pick<StoredSession, "account" | "owner">): boolean {
  return account === undefined && owner !== undefined && process.getuid?.() === 0;
}
