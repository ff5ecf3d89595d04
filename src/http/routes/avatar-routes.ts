import type { Accounts } from "../../auth/accounts/accounts.ts";
import type { Avatar } from "../../auth/accounts/methods.ts";
import { ExpiringMap, keepAnswer } from "../../lib/data/expiring-map.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { UserId } from "../../protocol/schemas/auth.ts";
import type { Media, Routes } from "../route.ts";

const SOMEBODY = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48" role="img"><title>user</title><circle cx="24" cy="24" r="24" fill="#8a94a3"/><circle cx="24" cy="18.5" r="8" fill="#fff"/><path d="M8.5 41a16 16 0 0 1 31 0A24 24 0 0 1 24 48 24 24 0 0 1 8.5 41z" fill="#fff"/></svg>
`;
const DAY_S = 86_400;
const HOUR_S = 3_600;

/**
 * The avatar of a user (contract 5.11). It is public, so only the server's own user, whose name is public as well, has an
 * avatar; all others, existing or not, have the generic one.
 */
export function avatarRoutes(parts: {
  readonly serverUser: string;
  /** `process.platform`: only macOS has avatars. */
  readonly platform: string;
  readonly accounts: Pick<Accounts, "avatar">;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}): Routes {
  const { serverUser, platform, accounts, now } = parts;
  const known = new ExpiringMap<string, Promise<Avatar | undefined>>({
    ...{ lifetimeMs: HOUR_S * 1_000, maxEntries: 1, now },
  });
  const ask = (): Promise<Avatar | undefined> => accounts.avatar(serverUser).catch(() => undefined);
  const ownAvatar = (): Promise<Avatar | undefined> =>
    known.get(serverUser) ?? keepAnswer(known, serverUser, ask());
  return {
    avatar: async ({ params }, { accepts }) => {
      const isOwn = checkUserId(params.userId) === serverUser;
      const avatar = isOwn && platform === "darwin" ? await ownAvatar() : undefined;
      if (accepts("image/svg+xml", "application/json") === "application/json") return json(platform, avatar);
      if (avatar !== undefined) {
        const bytes = Buffer.from(avatar.content, "base64");
        return media(avatar.type, bytes, { "cache-control": `private, max-age=${HOUR_S}` });
      }
      const headers = { "cache-control": `public, max-age=${DAY_S}` };
      return media("image/svg+xml", new TextEncoder().encode(SOMEBODY), headers);
    },
  };
}

/** With VibeTunnel's messages (facts 4.1). */
function checkUserId(text: string): string {
  const result = UserId.safeParse(text);
  if (result.success) return result.data;
  throw new ServiceError("invalid_request", result.error.issues[0]?.message ?? "Invalid user ID format");
}

function json(platform: string, found: Avatar | undefined): Media {
  const avatar = found ? `data:${found.type};base64,${found.content}` : null;
  const bytes = new TextEncoder().encode(JSON.stringify({ avatar, platform, source: found?.source }));
  return media("application/json; charset=utf-8", bytes);
}

function media(type: string, bytes: Uint8Array, headers: Media["headers"] = {}): Media {
  return { type, length: bytes.length, headers: { vary: "accept", ...headers }, body: bytes };
}
