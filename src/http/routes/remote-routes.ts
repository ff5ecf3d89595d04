import type { Principal } from "../../auth/principal.ts";
import type { Fleet } from "../../hq/fleet.ts";
import type { RemoteReport } from "../../hq/health/remote-health.ts";
import type { Registry } from "../../hq/registry/registry.ts";
import { reach } from "../../hq/remote-connection.ts";
import type { Remote } from "../../hq/remote-state.ts";
import { createCaller } from "../../protocol/client/caller.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { RegisterRemote, RemoteRecord, SetCordon } from "../../protocol/schemas/remote.ts";
import type { Context, Media, Routes } from "../route.ts";
import { forward } from "./forward.ts";
import type { RegistrationGuard } from "./join-routes.ts";

type RemoteRoutesParts = {
  readonly registry: Registry;
  readonly fleet: Fleet;
  readonly guard: RegistrationGuard;
  /** ServiceError `invalid_request` for a url that leads back to this HQ, or that it cannot use. */
  readonly checkUrl: (request: RegisterRemote) => Promise<void>;
  readonly reportOf: (remoteId: string) => RemoteReport | undefined;
};

/** The remotes of an HQ (specification 4.5, contract 6). */
export function remoteRoutes(parts: RemoteRoutesParts): Routes {
  const { registry, fleet, guard, reportOf } = parts;
  const recordOf = (remote: Remote): RemoteRecord => remoteRecord(remote, fleet);
  const named = (name: string): Remote => {
    const remote = registry.byName(name);
    if (remote === undefined) throw new ServiceError("remote_not_found", `remote ${name} has gone`);
    return remote;
  };
  return {
    listRemotes: async ({ query }, { principal }) => {
      const suspects = new Set(registry.suspects.map(({ id }) => id));
      const listed = registry.remotes.map((remote) => {
        const { conflicts, sessionIds, ...record } = recordOf(remote);
        const status = suspects.has(remote.id) ? "suspect" : "up";
        // Sessions of others are hidden.
        const sessions =
          principal.rights.kind === "all"
            ? { sessionIds, ...(conflicts && { conflicts }) }
            : { sessionIds: [] };
        return { ...record, ...sessions, status, ...reportOf(remote.id) } as const;
      });
      return query.down === "1" ? [...listed, ...registry.down.map(downRecord)] : listed;
    },
    registerRemote: async ({ body }, { principal }) => {
      return { success: true, remote: recordOf(await register(parts, body, principal)) };
    },
    removeRemote: async ({ params }, { principal }) => {
      await guard(principal, params);
      await registry.remove(params.id);
      return { success: true };
    },
    refreshSessions: async ({ params }, { principal }) => {
      await guard(principal, { name: params.name, id: registry.byName(params.name)?.id });
      const sessionCount = await fleet.refresh(params.name);
      registry.seen(named(params.name).id);
      return { success: true, sessionCount };
    },
    cordonRemote: async ({ params: { name }, body }) => {
      await cordonThere(fleet, name, body);
      // The remote registers with the change as well, but the next list must show it already.
      const changed = await registry.register({ ...named(name), cordoned: body.cordoned });
      return { success: true, remote: recordOf(changed) };
    },
    ...proxyRoutes(fleet),
  };
}

async function register(
  { registry, guard, checkUrl }: Pick<RemoteRoutesParts, "registry" | "guard" | "checkUrl">,
  request: RegisterRemote,
  principal: Principal,
): Promise<Remote> {
  await guard(principal, request);
  const known = registry.byId(request.id);
  if (known?.url !== request.url) await checkUrl(request);
  const registeredByKey = principal.rights.kind === "remote";
  const remote = await registry.register({ ...request, ...(registeredByKey && { registeredByKey }) });
  try {
    // A revocation since the first check may have found no registration to remove.
    await guard(principal, request);
  } catch (error) {
    if (registry.byId(request.id) !== undefined) await registry.remove(request.id);
    throw error;
  }
  return remote;
}

/** An allow list, because the token is secret. */
function remoteRecord(remote: Remote, fleet: Fleet): RemoteRecord {
  const { id, name, url, registeredAt, lastHeartbeat, cordoned, labels } = remote;
  const { ids, conflicts } = fleet.sessionsOf(name);
  return {
    ...{ id, name, url, registeredAt, lastHeartbeat, sessionIds: [...ids] },
    ...(cordoned ? { cordoned } : {}),
    ...(labels === undefined ? {} : { labels }),
    ...(conflicts.length === 0 ? {} : { conflicts: [...conflicts] }),
  };
}

/** Its id and address are unknown to an HQ that did not remove it itself. */
function downRecord({ name, since }: Registry["down"][number]): RemoteRecord {
  const times = { registeredAt: since, lastHeartbeat: since };
  return { id: "", name, url: "", sessionIds: [], ...times, status: "down" };
}

async function cordonThere(fleet: Fleet, name: string, body: SetCordon): Promise<void> {
  const caller = createCaller(fleet.senderOf(name));
  try {
    await reach({ name }, () => caller.call(endpoints.cordonServer, { body }));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 404) throw error;
    throw new ServiceError("not_found", `remote ${name} cannot be cordoned: update it`, { cause: error });
  }
}

function proxyRoutes(fleet: Fleet): Routes {
  const proxy =
    (method: "GET" | "POST" | "PATCH" | "DELETE") =>
    async (
      { params, query, body }: { params: ProxyPath; query: Record<string, unknown>; body?: unknown },
      context: Context,
    ): Promise<Media> => {
      const { name: remote, path } = params;
      return await forward(fleet.senderOf(remote), { method, path, query, body }, { ...context, remote });
    };
  return {
    proxyGet: proxy("GET"),
    proxyPost: proxy("POST"),
    proxyPatch: proxy("PATCH"),
    proxyDelete: proxy("DELETE"),
  };
}

type ProxyPath = { readonly name: string; readonly path: readonly string[] };
