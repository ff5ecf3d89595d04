import type { Principal } from "../../auth/principal.ts";
import { requirePermission } from "../../auth/roles.ts";
import { reach } from "../../hq/remote-connection.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import { succeeded } from "../../lib/async/succeeded.ts";
import { collectBytes } from "../../lib/data/collect.ts";
import type { ClientRequest, ClientResponse, Send } from "../../protocol/client/send.ts";
import { type Endpoint, matchPath, type Need } from "../../protocol/endpoints/endpoint.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { MAX_ERROR_BODY_BYTES, REQUEST_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { Context, Media } from "../route.ts";
import { noticeReader } from "./repository-routes.ts";
import { refuseLastingChange } from "./share-routes.ts";

/** Resources that an HQ forwards: no logins, no tickets, no remotes of the remote. */
const FORWARDED: ReadonlySet<string> = new Set([
  "sessions",
  "worktrees",
  "git",
  "repositories",
  "health",
  "cleanup-exited",
]);
/** Not forwarded: the HQ limits new sessions and files, and ends share links with the API token or user that created them. */
const DONE_HERE: ReadonlyMap<Endpoint, string> = new Map<Endpoint, string>([
  [endpoints.createSession, "create a session with POST /api/sessions and remoteId"],
  [endpoints.uploadFile, "send a file with POST /api/sessions/:id/files"],
  [endpoints.downloadFile, "fetch a file with GET /api/sessions/:id/files"],
  [endpoints.createShare, "share a session with POST /api/sessions/:id/share"],
]);
const PASSED_ON = ["content-disposition", "content-range", "accept-ranges", "retry-after"] as const;

type Sender = Pick<Context, "principal" | "address" | "range" | "lastEventId">;

export type Forwarded = {
  readonly method: ClientRequest["method"];
  /** Unescaped segments after `proxy/`, with or without a leading `api`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
};

/**
 * Forwards a request to a remote and passes its answer on, whatever the status. ServiceError `not_found` for other
 * resources, `remote_unreachable`, and `remote_timeout` if the answer does not begin within REQUEST_TIMEOUT_MS.
 */
export async function forward(
  send: Send,
  request: Forwarded,
  context: Sender & Pick<Context, "signal"> & { readonly remote: string },
): Promise<Media> {
  const { remote, signal } = context;
  const outgoing = outgoingOf(request, context);
  return await reach({ name: remote }, async () => {
    const answer = await withDeadline(
      async (giveUp) => {
        const sent = await send({ ...outgoing, signal: AbortSignal.any([signal, giveUp]) });
        if (sent.status !== 401) return sent;
        // An unread body would hold the connection.
        await succeeded(collectBytes(sent.body, MAX_ERROR_BODY_BYTES));
        throw new ServiceError("unauthorized", "the bearer token is not known there");
      },
      REQUEST_TIMEOUT_MS,
      `the answer of ${remote}`,
      signal,
    );
    return mediaOf(answer);
  });
}

function outgoingOf({ method, path, query, body }: Forwarded, sender: Sender): Omit<ClientRequest, "signal"> {
  const { principal, range, lastEventId } = sender;
  const segments = path[0] === "api" ? path.slice(1) : path;
  const endpoint = endpointOf(method, ["api", ...segments]);
  // Only admins may use endpoints that this HQ does not know.
  const need = endpoint?.need ?? "remotes:manage";
  requirePermission(principal.rights, need);
  const isPlain = segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
  if (!isPlain || !FORWARDED.has(segments[0] ?? "")) {
    throw new ServiceError("not_found", `an HQ does not forward /${path.join("/")} to its remotes`);
  }
  const instead = endpoint && DONE_HERE.get(endpoint);
  if (instead !== undefined) throw new ServiceError("not_found", instead);
  if (endpoint === endpoints.updateShare) refuseLastingChange(principal, Object(body).mode);
  const search = searchOf(query);
  // For the remote all callers of this HQ are one client.
  if (endpoint === endpoints.listNotifications)
    search.set("client", noticeReader(search.get("client") ?? "", sender));
  const isEmpty = method === "GET" || body === undefined;
  return {
    method,
    path: `/api/${segments.map(encodeURIComponent).join("/")}${search.size === 0 ? "" : `?${search}`}`,
    headers: {
      ...onBehalfOf(principal, need),
      ...(isEmpty ? {} : { "content-type": "application/json" }),
      ...(range === undefined ? {} : { range }),
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
    },
    body: isEmpty ? undefined : JSON.stringify(body),
  };
}

function endpointOf(method: string, path: readonly string[]): Endpoint | undefined {
  return Object.values<Endpoint>(endpoints).find(
    (endpoint) => endpoint.method.toUpperCase() === method && matchPath(endpoint, path) !== undefined,
  );
}

function searchOf(query: Forwarded["query"]): URLSearchParams {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (name !== "token") for (const one of [value].flat()) search.append(name, String(one));
  }
  return search;
}

/**
 * Callers with access to all sessions have it on the remote as well. Everything else runs as the caller, except for admins:
 * git on a remote must not run as its server for an operator.
 */
function onBehalfOf({ user, rights }: Principal, need: Need): Readonly<Record<string, string>> {
  if (rights.kind === "all" && (rights.role === "admin" || need.startsWith("sessions:"))) return {};
  return { "ttyhq-on-behalf-of": encodeURIComponent(user) };
}

function mediaOf({ status, headers, body }: ClientResponse): Media {
  const length = headers.get("content-length");
  const passedOn = PASSED_ON.flatMap((name) => {
    const value = headers.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...{ status, body, headers: Object.fromEntries(passedOn) },
    type: headers.get("content-type") ?? "application/octet-stream",
    ...(length === undefined ? {} : { length: Number(length) }),
  };
}
