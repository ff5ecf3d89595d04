// From the endpoint table and its routes to a listener for HTTP requests.
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { type ParsedUrlQuery, parse as parseQuery } from "node:querystring";
import type { z } from "zod";
import { enforcePolicy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import { ENDPOINT_NEEDS, permits, refusalOf } from "../auth/roles.ts";
import { diskFault } from "../lib/fs/disk-care.ts";
import { refuseAmbiguous } from "../lib/net/request-head.ts";
import { currentTrace, inTrace } from "../lib/trace.ts";
import { type Endpoint, matchPath } from "../protocol/endpoints/endpoint.ts";
import { type EndpointName, endpoints } from "../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_BODY_BYTES, MAX_OPEN_BODY_BYTES } from "../protocol/limits.ts";
import { audited, contextOf, type RequestContext } from "./audit-hook.ts";
import { claimsOf } from "./caller-credentials.ts";
import type { RateLimit } from "./limits/rate-limit.ts";
import { type AvatarSource, setSecurityHeaders } from "./page.ts";
import { type PageFiles, sendPageFile } from "./page-files.ts";
import { sendError, sendJson, sendMedia } from "./reply.ts";
import { bodyTooLarge, discardBody, readJsonBody } from "./request-body.ts";
import type { Context, Media, Routes } from "./route.ts";
import { traced } from "./traced.ts";
import type { ListenerChecks } from "./upgrade.ts";

/** A body that is too large is read up to this length, so that its client receives the error. */
const MAX_UNREAD_BODY_BYTES = 16 * MAX_BODY_BYTES;

export type RouterOptions = ListenerChecks & {
  readonly routes: Routes;
  readonly rateLimits: { readonly api: RateLimit; readonly sessions: RateLimit };
  readonly page?: PageFiles;
  readonly avatars?: AvatarSource;
};

type RequestInput = { readonly params: unknown; readonly query: unknown; readonly body: unknown };

/** Any route, after its endpoint was looked up. */
type AnyRoute = (input: RequestInput, context: Context<Principal | undefined>) => Promise<unknown>;

type Mounted = { readonly name: EndpointName; readonly endpoint: Endpoint; readonly route: AnyRoute };

type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly seen: RequestContext;
  readonly options: RouterOptions;
};

export function createRouter(options: RouterOptions): RequestListener {
  const mounted = Object.entries(options.routes).flatMap(([name, route]): readonly Mounted[] =>
    isEndpointName(name) && isRoute(route) ? [{ name, endpoint: endpoints[name], route }] : [],
  );
  return traced((request, response) => {
    const seen = contextOf(request, options.clientOf(request));
    respond(mounted, { request, response, seen, options }).catch((error: unknown) => {
      const known = knownError(error);
      const { method, path } = seen;
      if (known === undefined) options.log.error({ error, method, path }, "request failed");
      sendError(response, known ?? error, discardBody(request));
    });
  });
}

async function respond(mounted: readonly Mounted[], exchange: Exchange): Promise<void> {
  const { request, response, seen, options } = exchange;
  const { method, path } = seen;
  setSecurityHeaders(seen, response, options.clientOf(request), options.avatars ?? "own");
  logWhenClosed(seen, response, options);
  refuseAmbiguousOrHuge(request, response);
  checkPolicy(request, seen, options);
  if (!hasJsonBody(seen)) void discardBody(request);
  const segments = path.replace(/\/$/, "").split("/").slice(1);
  const found = mounted.filter(({ endpoint }) => matchPath(endpoint, segments) !== undefined);
  const asked = method === "HEAD" ? "get" : method.toLowerCase();
  const match = found.find(({ endpoint }) => endpoint.method === asked);
  if (match !== undefined) return await answer(match, segments, exchange);
  refuseOtherMethod(found, seen, response);
  const { headers } = request;
  if (options.page !== undefined && sendPageFile(options.page, { method, path, headers }, response)) return;
  throw new ServiceError("not_found", `there is nothing at ${method} ${path}`);
}

/** Nothing after such a request is read from its connection, because the next request's start is unknown. */
function refuseAmbiguousOrHuge(request: IncomingMessage, response: ServerResponse): void {
  try {
    refuseAmbiguous(request);
    if (Number(request.headers["content-length"] ?? 0) > MAX_UNREAD_BODY_BYTES)
      throw bodyTooLarge(MAX_BODY_BYTES);
  } catch (error) {
    response.setHeader("connection", "close");
    throw error;
  }
}

/** A log line and metrics for each request; no headers and no query, which may hold a ticket. */
function logWhenClosed(seen: RequestContext, response: ServerResponse, options: RouterOptions): void {
  const { log, meter } = options;
  const trace = currentTrace();
  const end = (): void => {
    const { method, path, address, beganMs, answeredMs, principal } = seen;
    const now = performance.now();
    const endpoint = seen.endpoint && endpoints[seen.endpoint].path;
    const status = response.headersSent ? response.statusCode : undefined;
    meter?.passed({ endpoint, method, status, tookMs: (answeredMs ?? now) - beganMs });
    const ms = Math.round(now - beganMs);
    log.debug({ method, path, address, status, ms, endpoint, user: principal?.user }, "request");
  };
  // The connection's `close` event belongs to no request.
  response.once("close", () => inTrace(trace, end));
}

function checkPolicy(request: IncomingMessage, seen: RequestContext, options: RouterOptions): void {
  const { policy, auditHook, clientOf } = options;
  if (policy === undefined) return;
  const { method, host, origin } = seen;
  try {
    enforcePolicy(policy, { method, isUpgrade: false, host, origin, asked: clientOf(request) });
  } catch (error) {
    auditHook?.({ ...seen, outcome: { error } });
    throw error;
  }
}

/** 405 for other methods of existing paths (RFC 9110, 15.5.6). */
function refuseOtherMethod(
  found: readonly Mounted[],
  { method }: RequestContext,
  response: ServerResponse,
): void {
  const [first] = found;
  if (first === undefined) return;
  const { path } = first.endpoint;
  const allowed = found
    .filter(({ endpoint }) => endpoint.path === path)
    .map(({ endpoint }) => (endpoint.method === "get" ? "GET, HEAD" : endpoint.method.toUpperCase()))
    .join(", ");
  response.setHeader("allow", allowed);
  throw new ServiceError("method_not_allowed", `${method} is not allowed on ${path}; allowed: ${allowed}`);
}

async function answer(mounted: Mounted, segments: readonly string[], exchange: Exchange): Promise<void> {
  const { endpoint } = mounted;
  const { request, response, seen, options } = exchange;
  const given = {
    params: matchPath(endpoint, segments.map(decoded)),
    query: parseQuery(/\?([^#]*)/.exec(request.url ?? "")?.[1] ?? ""),
  };
  seen.endpoint = mounted.name;
  const value = await audited(seen, options.auditHook, () => answerOf(mounted, given, exchange)).finally(
    () => {
      seen.answeredMs = performance.now();
    },
  );
  const status = successStatus(endpoint, seen.input?.body);
  if ("json" in endpoint.reply) sendJson(response, status, value);
  else if (isMedia(value)) {
    // A stream may last for days; it ends with its login.
    using _login = seen.principal && options.whenOver(seen.principal, () => response.destroy());
    await sendMedia(response, status, value).catch((error: unknown) => {
      // A client that disconnects is no failure.
      if (!response.destroyed) throw error;
    });
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new ServiceError("invalid_request", "the request is malformed", { cause });
  }
}

function successStatus({ reply }: Endpoint, body: unknown): number {
  if (!("json" in reply) || reply.other === undefined) return reply.status;
  return reply.other.isFor({ ...Object(body) }) ? reply.other.status : reply.status;
}

/** The path's parameters and the query, not yet validated. */
type Given = { readonly params: unknown; readonly query: ParsedUrlQuery };

async function answerOf(
  { name, endpoint, route }: Mounted,
  given: Given,
  exchange: Exchange,
): Promise<unknown> {
  const { request, response, seen, options } = exchange;
  const abort = new AbortController();
  // Aborting creates an error with a stack, so not for complete answers; a body that HEAD leaves unread has to end.
  response.once("close", () => {
    if (!response.writableFinished || request.method === "HEAD") abort.abort();
  });
  await authorise(endpoint, given.query, exchange);
  // Read after the call was counted; without a login only a short body.
  const limit = seen.principal === undefined ? MAX_OPEN_BODY_BYTES : MAX_BODY_BYTES;
  const body = hasJsonBody(seen) ? await readJsonBody(request, limit) : undefined;
  let input: RequestInput;
  try {
    input = {
      params: parse(endpoint.params, given.params),
      query: parse(endpoint.query, given.query),
      body: parse(endpoint.body, body === undefined ? {} : body),
    };
    seen.input = input;
  } finally {
    // Takes precedence over invalid input; comes after parsing because the audit log records the input.
    if (seen.principal !== undefined) requirePermission(name, seen.principal);
  }
  const { range, accept, "user-agent": client, "last-event-id": lastEventId } = request.headers;
  return await route(input, {
    ...{ principal: seen.principal, address: seen.address, client, range, accept, signal: abort.signal },
    origin: options.policy === undefined ? undefined : seen.origin,
    identified: () => identified(exchange),
    lastEventId: typeof lastEventId === "string" ? lastEventId : undefined,
    setHeader: (header, value) => void response.setHeader(header, value),
  });
}

function hasJsonBody({ path }: RequestContext): boolean {
  return path.startsWith("/api/");
}

const PLACES = { user: "api", stream: "event-stream", registry: "registry" } as const;

/** Authenticates and counts the call; a refused login counts for its address. */
async function authorise(
  endpoint: Endpoint,
  { token }: ParsedUrlQuery,
  { request, response, seen, options }: Exchange,
): Promise<void> {
  const { address } = seen;
  const count = async (principal: Principal | undefined): Promise<void> => {
    if (endpoint.limit === "none") return;
    const { api, sessions } = options.rateLimits;
    await api(request, response, { principal, address });
    // The headers then state the rest of the smaller limit.
    if (endpoint.limit === "sessions") await sessions(request, response, { principal, address });
  };
  if (endpoint.access === "open") return await count(undefined);
  try {
    const queryToken = typeof token === "string" ? token : undefined;
    const claims = claimsOf(request, { queryToken, address, place: PLACES[endpoint.access] });
    const principal = await options.authenticate(claims);
    seen.principal = principal;
    await count(principal);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unauthorized") await count(undefined);
    throw error;
  }
}

/** The caller without regard to a login in the request: named by a proxy, on this machine, or in mode "none". */
async function identified({ request, seen, options }: Exchange): Promise<Principal | undefined> {
  const claims = claimsOf(request, { queryToken: undefined, address: seen.address, place: "api" });
  try {
    return await options.authenticate({ ...claims, authorization: undefined });
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unauthorized") return undefined;
    throw error;
  }
}

function requirePermission(name: EndpointName, { rights }: Principal): void {
  const need = ENDPOINT_NEEDS[name];
  if (!permits(rights, need)) throw new ServiceError("forbidden", refusalOf(rights, need));
}

function parse(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map((issue) => ({
    path: issue.path.map(String).join("."),
    message: issue.message,
  }));
  const { path = "", message = "invalid" } = issues[0] ?? {};
  const text = path === "" ? message : `${path}: ${message}`;
  throw new ServiceError("invalid_request", text, { details: { issues } });
}

/** Errors of the disk as ServiceError; undefined for internal errors. */
function knownError(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error.code === "internal_error" ? undefined : error;
  const fault = diskFault(error, "the server's files");
  return fault === undefined
    ? undefined
    : new ServiceError("disk_failed", `this could not be stored: ${fault}`, { cause: error });
}

function isEndpointName(name: string): name is EndpointName {
  return Object.hasOwn(endpoints, name);
}

function isRoute(value: unknown): value is AnyRoute {
  return typeof value === "function";
}

function isMedia(value: unknown): value is Media {
  return typeof value === "object" && value !== null && "type" in value && "body" in value;
}
