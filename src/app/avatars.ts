// Where the picture of the server's own user comes from.
import type { Accounts } from "../auth/accounts/accounts.ts";
import type { Routes } from "../http/route.ts";
import { avatarRoutes, type FindPicture } from "../http/routes/avatar-routes.ts";

/** A changed picture is seen after this. */
const KEPT_MS = 3_600_000;

export function serverAvatarRoutes(
  serverUser: string,
  platform: string,
  accounts: Pick<Accounts, "picture">,
): Routes {
  const find: FindPicture = () => accounts.picture(serverUser).catch(() => undefined);
  const findPicture = platform === "darwin" ? kept(find, () => performance.now()) : async () => undefined;
  return avatarRoutes({ serverUser, platform, findPicture });
}

/** One look-up for all who ask within an hour. */
export function kept(find: FindPicture, now: () => number): FindPicture {
  let known: { readonly picture: ReturnType<FindPicture>; readonly untilMs: number } | undefined;
  return () => {
    if (known === undefined || now() > known.untilMs) known = { picture: find(), untilMs: now() + KEPT_MS };
    return known.picture;
  };
}
