import type { Principal } from "../../auth/principal.ts";
import type { FollowRequest, FollowSwitch } from "../../git/follow-switch.ts";
import type { Notice, Notices } from "../../git/notices.ts";
import type { SessionRecord } from "../../protocol/session.ts";
import type { Context, Routes } from "../route.ts";
import { nameOf, noticeReader } from "./notice-reader.ts";

export type FollowRouteParts = {
  readonly follow: FollowSwitch;
  readonly notices: Notices;
  /** An absolute path, for what may begin with `~`. */
  readonly absolute: (path: string, context: Context) => Promise<string>;
  /** The sessions that are in a working tree of that repository, whosever they are. */
  readonly sessionsIn: (repoPath: string) => Promise<readonly Pick<SessionRecord, "id" | "owner">[]>;
};

/** Follow mode, as the user who asks may turn it on and off. */
export function followRoutes({ follow, notices, absolute, sessionsIn }: FollowRouteParts): Routes {
  return {
    setFollow: async ({ body: { enable, dryRun, branch, repoPath } }, context) => {
      const { principal } = context;
      const path = await absolute(repoPath, context);
      const request: FollowRequest = {
        repoPath: path,
        branch,
        user: nameOf(principal),
        account: principal?.account,
      };
      if (dryRun) return await follow.preview({ ...request, enable });
      return enable ? await follow.enable(request) : await follow.disable(request);
    },
    getFollow: async ({ query: { path, repoPath, gitRepoPath } }, context) =>
      await follow.status(
        await absolute(path ?? repoPath ?? gitRepoPath ?? "~", context),
        context.principal?.account,
      ),
    gitEvent: async ({ body: { event, repoPath: named } }, context) => {
      const { principal } = context;
      const path = await absolute(named, context);
      const { repoPath, branch, isFollowed } = await follow.changed(path, principal?.account);
      const sessions = await sessionsIn(repoPath);
      const sessionIds = sessions.filter((session) => isFor(session, principal)).map(({ id }) => id);
      const facts = {
        ...(branch === undefined ? {} : { branch }),
        ...(event === undefined ? {} : { event }),
      };
      const seen = { repoPath, followMode: isFollowed };
      const notification = { type: "git-event" as const, ...seen, ...facts, sessionsUpdated: sessionIds };
      return { success: true, ...seen, sessionsUpdated: sessionIds.length, notification };
    },
    listNotifications: async ({ query: { client = "" } }, context) => {
      const { principal } = context;
      const told = notices.take(noticeReader(client, context), (notice) => maySee(notice, principal));
      return { notifications: [...told] };
    },
  };
}

function maySee({ user }: Notice, principal: Principal | undefined): boolean {
  return principal?.rights.kind === "all" || user === nameOf(principal);
}

function isFor({ owner }: Pick<SessionRecord, "owner">, principal: Principal | undefined): boolean {
  return principal?.rights.kind === "all" || (owner !== undefined && owner === principal?.owner);
}
