// Where the picture of the server's own user comes from.
import { macPicture } from "../auth/avatar.ts";
import type { Routes } from "../http/route.ts";
import { avatarRoutes } from "../http/routes/avatar-routes.ts";

export function pictureRoutes(serverUser: string, platform: string): Routes {
  const now = (): number => performance.now();
  const findPicture = platform === "darwin" ? macPicture(serverUser, { now }) : async () => undefined;
  return avatarRoutes({ serverUser, platform, findPicture });
}
