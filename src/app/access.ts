// Sessions as each of those who log in may see and touch them, over REST and /ws.
import { ownedRequest, SessionAccess } from "../access/session-access.ts";
import type { Gate } from "../auth/gate.ts";
import type { Principal } from "../auth/principal.ts";
import type { Routes } from "../http/route.ts";
import { sessionRoutes } from "../http/routes/session-routes.ts";
import { shareRoutes } from "../http/routes/share-routes.ts";
import type { Hub, HubView } from "../hub/hub.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { SessionBackend } from "../sessions/backend.ts";

export type Access = Disposable & {
  readonly viewOf: (principal: Principal) => HubView;
  /** `url`: the address that this server knows itself by. */
  routes(url: () => Promise<string>): Routes;
};

export function openAccess(parts: {
  readonly backend: SessionBackend;
  readonly hub: Hub;
  readonly gate: Pick<Gate, "shares" | "users">;
}): Access {
  const { backend, hub, gate } = parts;
  const { shares, users } = gate;
  const stack = new DisposableStack();
  const access = stack.use(new SessionAccess(backend));
  if (shares !== undefined) stack.use(forgetRemoved(backend, (id) => shares.forget(id)));
  const viewOf = (principal: Principal): HubView => access.of(principal);
  const sessionsOf = (principal: Principal | undefined): SessionBackend => viewOf(known(principal)).sessions;
  return {
    viewOf,
    routes: (url) => ({
      ...sessionRoutes({
        sessionsOf,
        ownRequest: (request, principal) => {
          // Whether an id is taken would tell of the sessions of others.
          if (request.id !== undefined && sessionsOf(principal) !== backend) {
            throw new ServiceError(
              "forbidden",
              "the server chooses the ids of your sessions: leave the id out",
            );
          }
          return ownedRequest(request, known(principal), users.accountOf);
        },
        viewersOf: (id) => hub.viewersOf(id),
      }),
      ...shareRoutes({ sessionsOf, shares, url }),
    }),
    [Symbol.dispose]: () => stack.dispose(),
  };
}

function forgetRemoved(backend: SessionBackend, forget: (sessionId: string) => Promise<void>): Disposable {
  return backend.watch(({ type, sessionId }) => {
    // What cannot be written now opens nothing all the same: the session of that link is gone.
    if (type === "session-removed" && sessionId !== undefined) void forget(sessionId).catch(() => undefined);
  });
}

function known(principal: Principal | undefined): Principal {
  if (principal === undefined) throw new ServiceError("unauthorized", "log in first");
  return principal;
}
