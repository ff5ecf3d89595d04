import { isDeepStrictEqual } from "node:util";
import type { FolderState } from "../git/worker/methods.ts";
import type { GitStatus } from "../protocol/schemas/session.ts";
import type { FolderPresence } from "../sessions/user-folders.ts";

/** A session that ended longer ago emits no event; clients see the change on the next list. */
const LAST_EVENT_MS = 30_000;

/** `endedAtMs`: `undefined` while the session's program runs. */
type SessionInFolder = { endedAtMs: number | undefined; readonly onChange: () => void };
type Folder = { readonly sessions: Set<SessionInFolder>; status: GitStatus | undefined };

type Parts = {
  /** Programs run in that folder, have ended, or there are no sessions any more. */
  readonly onState: (cwd: string, state: FolderState) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/** The folders of one user's sessions with the git status that the worker reports. */
export class SessionFolders {
  readonly #parts: Parts;
  readonly #folders = new Map<string, Folder>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  enter(cwd: string, options: { readonly isLive: boolean; readonly onChange: () => void }): FolderPresence {
    const folder: Folder = this.#folders.get(cwd) ?? { sessions: new Set(), status: undefined };
    this.#folders.set(cwd, folder);
    const session: SessionInFolder = {
      endedAtMs: options.isLive ? undefined : -Infinity,
      onChange: options.onChange,
    };
    this.#change(cwd, folder, () => folder.sessions.add(session));
    return {
      get status() {
        return folder.sessions.has(session) ? folder.status : undefined;
      },
      ended: () =>
        this.#change(cwd, folder, () => {
          session.endedAtMs ??= this.#parts.now();
        }),
      [Symbol.dispose]: () => this.#change(cwd, folder, () => folder.sessions.delete(session)),
    };
  }

  /** The worker reports the status of a folder. */
  learned(cwd: string, status: GitStatus | undefined): void {
    const folder = this.#folders.get(cwd);
    if (folder === undefined || isDeepStrictEqual(folder.status, status)) return;
    folder.status = status;
    const oldestMs = this.#parts.now() - LAST_EVENT_MS;
    for (const { endedAtMs, onChange } of [...folder.sessions])
      if (endedAtMs === undefined || endedAtMs > oldestMs) onChange();
  }

  statusOf(cwd: string): GitStatus | undefined {
    return this.#folders.get(cwd)?.status;
  }

  has(cwd: string): boolean {
    return this.#folders.has(cwd);
  }

  get states(): readonly (readonly [cwd: string, state: FolderState])[] {
    return [...this.#folders].map(([cwd, folder]) => [cwd, stateOf(folder)]);
  }

  get isEmpty(): boolean {
    return this.#folders.size === 0;
  }

  get isLive(): boolean {
    return [...this.#folders.values()].some((folder) => stateOf(folder) === "live");
  }

  /** Whether a program runs in a repository. */
  get isWatched(): boolean {
    return [...this.#folders.values()].some(
      (folder) => folder.status !== undefined && stateOf(folder) === "live",
    );
  }

  #change(cwd: string, folder: Folder, change: () => unknown): void {
    const before = stateOf(folder);
    change();
    const state = stateOf(folder);
    if (state === "left" && this.#folders.get(cwd) === folder) this.#folders.delete(cwd);
    if (state !== before) this.#parts.onState(cwd, state);
  }
}

function stateOf({ sessions }: Folder): FolderState {
  for (const { endedAtMs } of sessions) if (endedAtMs === undefined) return "live";
  return sessions.size > 0 ? "ended" : "left";
}
