// Folders of repositories with their live git status, and a git that counts its runs.
import { readdir, readFile, rename } from "node:fs/promises";
import { GitProgram } from "../../../src/git/git.ts";
import { LiveStatus } from "../../../src/git/status/live-status.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import type { GitStatus } from "../../../src/protocol/schemas/session.ts";
import { SessionFolders } from "../../../src/repositories/session-folders.ts";
import type { FolderPresence } from "../../../src/sessions/user-folders.ts";
import { GitRoom } from "../harness/git-repository.ts";

const CHANGE_TIMEOUT_MS = 60_000;
const CHECK_MS = 50;

/**
 * A git in front of the real one that writes a line for each run, and first runs the file `first` beside it, if it
 * exists. Returns its folder.
 */
export async function countingGit(
  room: GitRoom,
): Promise<{ readonly path: string; runs(): Promise<number> }> {
  const log = room.at("git-runs");
  const path = room.at("counting");
  const rest = room.env.PATH;
  await room.write(log, "");
  const first = `if [ -e ${path}/first ]; then . ${path}/first; fi`;
  await room.script(`${path}/git`, `echo run >>${log}\n${first}\nPATH='${rest}' exec git "$@"`);
  return { path, runs: async () => (await readFile(log, "utf8")).split("\n").length - 1 };
}

/** The folders of its file system that a process currently watches. */
export async function watchesOf(pid: number | "self"): Promise<number> {
  const infos = await readdir(`/proc/${pid}/fdinfo`);
  const texts = await Promise.all(
    infos.map((info) => readFile(`/proc/${pid}/fdinfo/${info}`, "utf8").catch(() => "")),
  );
  return texts
    .join("")
    .split("\n")
    .filter((line) => line.startsWith("inotify wd:")).length;
}

/** A session in a folder, and the changes reported to it. */
export class Onlooker implements Disposable {
  readonly presence: FolderPresence;
  readonly changed = new Emitter<void>();
  changes = 0;
  readonly #check: () => void;

  constructor({ live, folders }: StatusRoom, cwd: string, { isLive = true } = {}) {
    this.presence = folders.enter(cwd, { isLive, onChange: () => this.#onChange() });
    this.#check = () => live.check([cwd]);
  }

  get status(): GitStatus | undefined {
    return this.presence.status;
  }

  /** Resolves when the status matches, while the session counts as having viewers or output. */
  async checked(
    fits: (status: GitStatus | undefined) => boolean,
    what: string,
  ): Promise<GitStatus | undefined> {
    const checks = setInterval(this.#check, CHECK_MS);
    return await this.until(fits, what).finally(() => clearInterval(checks));
  }

  /** The same, only by changes of git's own files. */
  async until(
    fits: (status: GitStatus | undefined) => boolean,
    what: string,
  ): Promise<GitStatus | undefined> {
    const { promise, resolve } = Promise.withResolvers<void>();
    using _listening = this.changed.on(() => {
      if (fits(this.status)) resolve();
    });
    if (fits(this.status)) resolve();
    await withDeadline(promise, CHANGE_TIMEOUT_MS, what);
    return this.status;
  }

  /** Resolves with the status once there are warnings. */
  async known(): Promise<GitStatus> {
    const status = await this.until((found) => found !== undefined, "status");
    if (status === undefined) throw new Error("no status");
    return status;
  }

  [Symbol.dispose](): void {
    this.presence[Symbol.dispose]();
  }

  #onChange(): void {
    this.changes++;
    this.changed.emit();
  }
}

export class StatusRoom implements AsyncDisposable {
  readonly room: GitRoom;
  readonly live: LiveStatus;
  readonly folders: SessionFolders;
  readonly runs: () => Promise<number>;
  /** The warnings. */
  readonly warnings: string[];
  readonly #gitPath: string;

  private constructor(
    room: GitRoom,
    parts: Pick<StatusRoom, "live" | "folders" | "runs" | "warnings"> & { path: string },
  ) {
    this.room = room;
    this.#gitPath = parts.path;
    this.live = parts.live;
    this.folders = parts.folders;
    this.runs = parts.runs;
    this.warnings = parts.warnings;
  }

  static async make(options: { readonly now?: () => number } = {}): Promise<StatusRoom> {
    const room = await GitRoom.make();
    const { path, runs } = await countingGit(room);
    const program = new GitProgram({ env: { ...room.env, PATH: `${path}:${room.env.PATH}` } });
    const warnings: string[] = [];
    const log = { warn: (_: object, message: string): void => void warnings.push(message) };
    const { now = () => performance.now() } = options;
    const live: LiveStatus = new LiveStatus({
      ...{ program, log, now },
      onStatus: (cwd, status) => folders.learned(cwd, status),
    });
    const folders = new SessionFolders({ now, onState: (cwd, state) => live.set(cwd, state) });
    return new StatusRoom(room, { live, folders, runs, warnings, path });
  }

  enter(cwd: string, options: { readonly isLive?: boolean } = {}): Onlooker {
    return new Onlooker(this, cwd, options);
  }

  /** A shell script that every git runs first from now on, with its arguments in `$*`. */
  async first(text: string): Promise<void> {
    await this.room.write(`${this.#gitPath}/next`, text);
    await rename(`${this.#gitPath}/next`, `${this.#gitPath}/first`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.live[Symbol.dispose]();
    await this.room[Symbol.asyncDispose]();
  }
}

/** A session in that repository with complete status. */
export async function inside(place: StatusRoom, cwd: string): Promise<Onlooker> {
  const one = place.enter(cwd);
  await one.known();
  return one;
}

export function on(branch: string): (status: GitStatus | undefined) => boolean {
  return (status) => status?.gitBranch === branch;
}

export function dirty(status: GitStatus | undefined): boolean {
  return status?.gitHasChanges === true;
}

export function clean(status: GitStatus | undefined): boolean {
  return status?.gitHasChanges === false;
}
