import type { Avatar } from "../../auth/accounts/avatar.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { UserId } from "../../protocol/schemas/auth.ts";
import type { Media, Routes } from "../route.ts";

/** Undefined where there is none that a browser can show. Never rejects. */
export type FindAvatar = () => Promise<Avatar | undefined>;

/** A head and shoulders, the same for everybody. */
const SOMEBODY = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48" role="img"><title>user</title><circle cx="24" cy="24" r="24" fill="#8a94a3"/><circle cx="24" cy="18.5" r="8" fill="#fff"/><path d="M8.5 41a16 16 0 0 1 31 0A24 24 0 0 1 24 48 24 24 0 0 1 8.5 41z" fill="#fff"/></svg>
`;
/** A picture opened by itself runs nothing and loads nothing. */
const CONTENT_SECURITY_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";
const DAY_S = 86_400;
const HOUR_S = 3_600;

/**
 * The picture of a user (contract 5.11). It is shown before anybody has logged in, so it is that of the server's own user,
 * whose name is told there, too; everybody else, whether or not there is such a user, has the same one.
 */
export function avatarRoutes(parts: {
  readonly serverUser: string;
  /** As `process.platform` names it. */
  readonly platform: string;
  readonly findAvatar: FindAvatar;
}): Routes {
  const { serverUser, platform, findAvatar } = parts;
  return {
    avatar: async ({ params }, { accept }) => {
      const avatar = checkUserId(params.userId) === serverUser ? await findAvatar() : undefined;
      if (isJsonWanted(accept)) return json({ platform, avatar });
      if (avatar === undefined)
        return image("image/svg+xml", new TextEncoder().encode(SOMEBODY), `public, max-age=${DAY_S}`);
      return image(avatar.type, avatar.bytes, `private, max-age=${HOUR_S}`);
    },
  };
}

/** In the words of the program whose clients ask this way (facts 4.1). */
function checkUserId(text: string): string {
  const result = UserId.safeParse(text);
  if (result.success) return result.data;
  throw new ServiceError("invalid_request", result.error.issues[0]?.message ?? "Invalid user ID format");
}

/** Whether JSON is named, and no picture is liked better (RFC 9110, 12.5.1). */
function isJsonWanted(accept = ""): boolean {
  const wishes = accept
    .toLowerCase()
    .split(",", 64)
    .map((wish) => {
      const [range = "", ...parameters] = wish.split(";").map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return { range, weight: weight === undefined ? 1 : Number(weight) };
    });
  const best = (isIt: (range: string) => boolean): number =>
    Math.max(0, ...wishes.filter(({ range }) => isIt(range)).map(({ weight }) => weight || 0));
  const json = best((range) => range === "application/json");
  return json > 0 && json >= best((range) => range.startsWith("image/"));
}

function json({ platform, avatar: picture }: { platform: string; avatar: Avatar | undefined }): Media {
  const avatar =
    picture === undefined
      ? null
      : `data:${picture.type};base64,${Buffer.from(picture.bytes).toString("base64")}`;
  const body = JSON.stringify({ avatar, platform, source: picture?.source });
  return { ...media(new TextEncoder().encode(body)), type: "application/json; charset=utf-8" };
}

function image(type: string, bytes: Uint8Array, cacheControl: string): Media {
  const { headers, ...rest } = media(bytes);
  const more = { "cache-control": cacheControl, "content-security-policy": CONTENT_SECURITY_POLICY };
  return { ...rest, type, headers: { ...headers, ...more } };
}

function media(bytes: Uint8Array): Omit<Media, "type"> {
  return { length: bytes.length, headers: { vary: "accept" }, body: bytes };
}
