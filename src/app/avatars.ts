import type { Accounts } from "../auth/accounts/accounts.ts";
import type { Routes } from "../http/route.ts";
import { avatarRoutes, type FindAvatar } from "../http/routes/avatar-routes.ts";

const KEPT_MS = 3_600_000;

export function serverAvatarRoutes(
  serverUser: string,
  platform: string,
  accounts: Pick<Accounts, "avatar">,
): Routes {
  const find: FindAvatar = () => accounts.avatar(serverUser).catch(() => undefined);
  const findAvatar = platform === "darwin" ? kept(find, () => performance.now()) : async () => undefined;
  return avatarRoutes({ serverUser, platform, findAvatar });
}

/** Caches the avatar for an hour. */
export function kept(find: FindAvatar, now: () => number): FindAvatar {
  let known: { readonly avatar: ReturnType<FindAvatar>; readonly untilMs: number } | undefined;
  return () => {
    if (known === undefined || now() > known.untilMs) known = { avatar: find(), untilMs: now() + KEPT_MS };
    return known.avatar;
  };
}
