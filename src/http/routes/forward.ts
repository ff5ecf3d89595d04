import { ENDPOINT_NEEDS, type Need, permits, refusalOf } from "../../auth/roles.ts";
import { reach } from "../../hq/remote-connection.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import type { ClientRequest, ClientResponse, Send } from "../../protocol/client/send.ts";
import { type Endpoint, matchPath } from "../../protocol/endpoints/endpoint.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { REQUEST_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { Context, Media } from "../route.ts";
import { noticeReader } from "./notice-reader.ts";

/** What of a remote is reached through the HQ: no logins, no tickets, and no remotes of its own. */
const FORWARDED: ReadonlySet<string> = new Set([
  "sessions",
  "worktrees",
  "git",
  "repositories",
  "health",
  "cleanup-exited",
]);
/** What of the answer concerns the client; all else is between the HQ and the remote. */
const PASSED_ON = ["content-disposition", "content-range", "accept-ranges", "retry-after"] as const;

type Sender = Pick<Context, "principal" | "address" | "range" | "lastEventId">;

const NEEDS: ReadonlyMap<string, Need> = new Map(Object.entries(ENDPOINT_NEEDS));
const NOTIFICATIONS = "git/notifications";

export type Forwarded = {
  readonly method: ClientRequest["method"];
  /** The segments of the path after `proxy/`, unescaped, with or without a leading `api`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
};

/**
 * Sends a request on to a remote and gives its answer as it comes, whatever its status. Throws `not_found` for what is
 * not forwarded, `remote_unreachable`, and `remote_timeout` when the answer has not begun within REQUEST_TIMEOUT_MS.
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
      (giveUp) => send({ ...outgoing, signal: AbortSignal.any([signal, giveUp]) }),
      REQUEST_TIMEOUT_MS,
      `the answer of ${remote}`,
      signal,
    );
    if (answer.status === 401) throw new ServiceError("unauthorized", "the bearer token is not known there");
    return mediaOf(answer);
  });
}

function outgoingOf({ method, path, query, body }: Forwarded, sender: Sender): Omit<ClientRequest, "signal"> {
  const { principal, range, lastEventId } = sender;
  const segments = path[0] === "api" ? path.slice(1) : path;
  const need = needOf(method, segments, principal);
  const isPlain = segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
  if (!isPlain || !FORWARDED.has(segments[0] ?? "")) {
    throw new ServiceError("not_found", `an HQ does not forward /${path.join("/")} to its remotes`);
  }
  // Sessions are created under a limit of their own.
  if (method === "POST" && segments.length === 1 && segments[0] === "sessions") {
    throw new ServiceError("not_found", "create a session with POST /api/sessions and remoteId");
  }
  const search = searchOf(query);
  // To the remote all who come through here are one client.
  if (segments.join("/") === NOTIFICATIONS) {
    search.set("client", noticeReader(search.get("client") ?? "", sender));
  }
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

/**
 * What a request needs. What a role may not do here it may not do there: `forbidden`. Only an admin sends what this HQ
 * does not know.
 */
function needOf(method: string, segments: readonly string[], principal: Context["principal"]): Need {
  if (principal === undefined) throw new ServiceError("unauthorized", "log in first");
  const path = ["api", ...segments];
  const known: readonly (readonly [string, Endpoint])[] = Object.entries(endpoints);
  const found = known.find(
    ([, endpoint]) => endpoint.method.toUpperCase() === method && matchPath(endpoint, path) !== undefined,
  );
  const need = (found && NEEDS.get(found[0])) ?? "remotes:manage";
  if (!permits(principal.rights, need)) {
    throw new ServiceError("forbidden", refusalOf(principal.rights, need));
  }
  return need;
}

function searchOf(query: Forwarded["query"]): URLSearchParams {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (name !== "token") for (const one of [value].flat()) search.append(name, String(one));
  }
  return search;
}

/**
 * Who reaches all sessions here does so there. Everything else is done as the user who asks, except for an admin: git of
 * a remote must not run as its server for an operator.
 */
function onBehalfOf(principal: Context["principal"], need: Need): Readonly<Record<string, string>> {
  if (principal === undefined) throw new ServiceError("unauthorized", "log in first");
  const { rights } = principal;
  if (rights.kind === "all" && (rights.role === "admin" || need.startsWith("sessions:"))) return {};
  return { "ttyhq-on-behalf-of": encodeURIComponent(principal.user) };
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
