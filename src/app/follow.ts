// Follow mode of a server: its parts, and whom its notifications reach.
import type { FollowSwitch } from "../git/follow-switch.ts";
import type { GitProgram } from "../git/git.ts";
import type { HookDoor } from "../git/hook-door.ts";
import type { Notices } from "../git/notices.ts";
import type { Hub } from "../hub/hub.ts";
import type { Log } from "../log.ts";
import { LOCAL } from "../protocol/remote.ts";
import type { SessionRecord } from "../protocol/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { ControlDir } from "../sessions/control-dir.ts";
import type { Surroundings } from "./surroundings.ts";

export type FollowPart = AsyncDisposable & {
  readonly follow: FollowSwitch;
  readonly notices: Notices;
  /** Sessions of this machine whose folder is in a tree of that repository, by its main tree's path. */
  readonly sessionsIn: (repoPath: string) => Promise<readonly SessionRecord[]>;
};

export async function openFollow(parts: {
  readonly program: GitProgram;
  readonly controlDir: Pick<ControlDir, "path" | "follow">;
  readonly surroundings: Pick<Surroundings, "node" | "main" | "isRoot">;
  readonly backend: Pick<SessionBackend, "list">;
  readonly hub: Pick<Hub, "tell">;
  readonly log: Log;
  /** Something has changed in the repository with that common directory. */
  readonly onChange: (commonDir: string) => void;
}): Promise<FollowPart> {
  const { program, controlDir, surroundings, backend, hub, log, onChange } = parts;
  const [
    { FollowHooks },
    { FollowList },
    { FollowSwitch },
    { Follower },
    { HookDoor, hookSocketPath },
    ...rest
  ] = await Promise.all([
    import("../git/follow-hooks.ts"),
    import("../git/follow-list.ts"),
    import("../git/follow-switch.ts"),
    import("../git/follower.ts"),
    import("../git/hook-door.ts"),
    import("../git/notices.ts"),
    import("../git/follow-trees.ts"),
  ]);
  const [{ Notices }, { treeTops }] = rest;
  await using stack = new AsyncDisposableStack();
  const list = new FollowList(controlDir.follow);
  const { node, main, isRoot } = surroundings;
  const door = new HookDoor({
    path: hookSocketPath(controlDir.path),
    onKey: (key) => list.withKey(key).forEach(({ repoPath }) => void follower.hint(repoPath)),
  });
  const target = { node, main, controlDir: controlDir.path };
  const hooks = new FollowHooks({ list, target, ...(isRoot ? { forOthers: () => opened(door, log) } : {}) });
  const now = () => performance.now();
  const notices = new Notices({ now });
  const follower = stack.use(new Follower({ program, list, hooks, notices, log, onChange, now }));
  stack.use(door);
  const follow = new FollowSwitch({ program, list, hooks, follower });
  const sessionsIn: FollowPart["sessionsIn"] = async (repoPath) => {
    const tops = await treeTops(program.at(repoPath, { account: list.get(repoPath)?.account }));
    const sessions = await backend.list();
    return sessions.filter(
      ({ cwd, remoteId = LOCAL }) => remoteId === LOCAL && tops.some((top) => isWithin(top, cwd)),
    );
  };
  stack.use(tellClients(notices, sessionsIn, hub, log));
  await follower.resume().catch((error: unknown) => log.error({ error }, "follow mode not resumed"));
  if (isRoot && list.entries.some(({ hookKey }) => hookKey !== undefined)) await opened(door, log);
  const owned = stack.move();
  return { follow, notices, sessionsIn, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** `undefined`: it could not be opened; what happens is seen in git's own files all the same. */
async function opened(door: HookDoor, log: Log): Promise<string | undefined> {
  try {
    await door.open();
    return door.path;
  } catch (error) {
    log.warn({ error, path: door.path }, "no socket for the hooks of other users");
    return undefined;
  }
}

function tellClients(
  notices: Notices,
  sessionsIn: FollowPart["sessionsIn"],
  hub: Pick<Hub, "tell">,
  log: Log,
): Disposable {
  return notices.on(({ notification, user }) => {
    const { timestamp, repoPath } = notification;
    const event = { type: "git-notification", timestamp, owner: user, notification } as const;
    const telling = sessionsIn(repoPath).then((sessions) =>
      hub.tell({ ...event, sessionIds: sessions.map(({ id }) => id) }),
    );
    telling.catch((error: unknown) => log.warn({ error, repoPath }, "notification not sent"));
  });
}

function isWithin(top: string, path: string): boolean {
  return path === top || path.startsWith(top.endsWith("/") ? top : `${top}/`);
}
