import { creatorOf } from "../../auth/accounts/account-check.ts";
import { type Principal, watcherOf } from "../../auth/principal.ts";
import type { Shares } from "../../auth/tokens/shares.ts";
import type { Hub } from "../../hub/hub.ts";
import { keyOf } from "../../protocol/directory/session-change.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { Context, Routes } from "../route.ts";
import type { SessionRouteParts } from "./session-routes.ts";

/** The server's own address. `isPublic`: it is the configured one. */
export type OwnAddress = () => Promise<{ readonly url: string; readonly isPublic: boolean }>;

/** Share links, and who watches. Only callers who may see a session may share it. */
export function shareRoutes(parts: {
  readonly sessionsOf: SessionRouteParts["sessionsOf"];
  /** `undefined` without login. */
  readonly shares: Shares | undefined;
  readonly address: OwnAddress;
  readonly hub: Pick<Hub, "presence">;
}): Routes {
  const { sessionsOf, address } = parts;
  const sharesOrThrow = (): Shares => {
    if (parts.shares !== undefined) return parts.shares;
    throw new ServiceError("forbidden", "without login everyone has all sessions: there is nothing to share");
  };
  const keyed = (record: SessionRecord) => ({ ...record, key: keyOf(record) });
  const sessionOf = async ({ principal }: Context, id: string) => keyed(await sessionsOf(principal).get(id));
  return {
    createShare: async ({ params, body: { mode, resize, history, expiresIn } }, context) => {
      const shares = sharesOrThrow();
      const session = await sessionOf(context, params.id);
      const by = creatorOf(context.principal);
      const from = history ? undefined : session.outputBytes;
      const share = await shares.create(session, { mode, resize, from, lifetimeS: expiresIn, by });
      const path = `/#share=${share.token}`;
      const { url, isPublic } = await address();
      return { ...share, path, url: `${url}${path}`, ...(isPublic && { isPublic }) };
    },
    listAllShares: async (_, { principal }) => {
      if (parts.shares === undefined) return [];
      const records = await sessionsOf(principal).list();
      return [...parts.shares.of(...records.map(keyed))];
    },
    listViewers: async ({ params }, { principal }) => {
      const { id } = await sessionsOf(principal).get(params.id);
      return parts.hub.presence.of(id, { ...watcherOf(principal), id: undefined });
    },
    listShares: async ({ params }, context) => {
      return [...(parts.shares?.of(await sessionOf(context, params.id)) ?? [])];
    },
    updateShare: async ({ params, body }, context) => {
      refuseLastingChange(context.principal, body.mode);
      const session = await sessionOf(context, params.id);
      return await sharesOrThrow().update(session, params.shareId, body);
    },
    revokeShare: async ({ params }, context) => {
      const session = await sessionOf(context, params.id);
      await sharesOrThrow().revoke(session, params.shareId);
      return { success: true };
    },
  };
}

/** ServiceError `forbidden`: a link that others made outlives an API token, so the token may only take rights from it. */
export function refuseLastingChange({ method }: Pick<Principal, "method">, mode: unknown): void {
  if (method !== "api-token" || mode === "view") return;
  const message = "an API token lets no guests type by an existing share link: create another link with it";
  throw new ServiceError("forbidden", message);
}
