// The sessions that each caller may see and use, over REST and /ws.
import { type RightsNow, sessionAccess } from "../access/session-access.ts";
import type { Gate } from "../auth/gate.ts";
import { type Principal, watcherOf } from "../auth/principal.ts";
import { frameRefusals } from "../auth/roles.ts";
import type { Config } from "../config/config.ts";
import type { Routes } from "../http/route.ts";
import { fileRoutes } from "../http/routes/file-routes.ts";
import { type CordonState, sessionRoutes } from "../http/routes/session-routes.ts";
import { type OwnAddress, shareRoutes } from "../http/routes/share-routes.ts";
import { usageRoutes } from "../http/routes/usage-routes.ts";
import { vibeTunnelRoutes } from "../http/routes/vibetunnel-routes.ts";
import { refuseTooMany } from "../http/upgrade.ts";
import type { Hub } from "../hub/hub.ts";
import type { HubView } from "../hub/viewer/hub-view.ts";
import type { SessionBackend } from "../sessions/backend.ts";

export type Access = Disposable & {
  readonly viewOf: (principal: Principal) => HubView;
  routes(address: OwnAddress): Routes;
};

export function openAccess(parts: {
  readonly config: Pick<Config, "maxUploadBytes" | "rateLimits" | "recording">;
  readonly backend: SessionBackend;
  readonly hub: Hub;
  readonly gate: Pick<Gate, "shares" | "users" | "loginRecords" | "config">;
  readonly remotes?: (() => readonly string[]) | undefined;
  readonly cordon: CordonState | undefined;
  readonly version: string;
}): Access {
  const { backend, hub, gate } = parts;
  const { shares, users } = gate;
  const rightsNow: RightsNow = (principal) => shares?.rightsNow(principal) ?? principal.rights;
  const access = sessionAccess(backend, rightsNow, users.accountOf);
  const { sessionsOf, ownRequest } = access;
  const watching =
    shares &&
    backend.watch(({ type, key, sessionId: id }) => {
      // A failed write is harmless: the link's session is gone.
      if (type === "session-removed" && id !== undefined && key !== undefined)
        void shares.forget({ id, key }).catch(() => undefined);
    });
  const viewOf = (principal: Principal): HubView => ({
    ...access.viewOf(principal),
    refusals:
      principal.rights.kind === "invited"
        ? { get: (type) => frameRefusals(rightsNow(principal)).get(type) }
        : frameRefusals(principal.rights),
  });
  return {
    viewOf,
    routes: (address) => ({
      // Their path of all activity precedes that of one session.
      ...vibeTunnelRoutes({
        ...{ sessionsOf, version: parts.version, isHq: parts.remotes !== undefined, now: Date.now },
        connector: ({ address, principal }) => {
          refuseTooMany(hub, principal);
          return (peer) => {
            // The stream begins later, and others connect in the meantime.
            refuseTooMany(hub, principal);
            return hub.connect(peer, { ...watcherOf(principal), address }, viewOf(principal));
          };
        },
      }),
      ...sessionRoutes({ ...parts, sessionsOf, ownRequest }),
      ...fileRoutes({ sessionsOf, ...parts.config }),
      ...usageRoutes(parts),
      ...shareRoutes({ sessionsOf, shares, address, hub }),
    }),
    [Symbol.dispose]: () => watching?.[Symbol.dispose](),
  };
}
