// From the endpoint table and its routes to a listener for HTTP requests.
import type { RequestListener } from "node:http";
import express from "express";
import type { z } from "zod";
import { enforcePolicy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import { requirePermission } from "../auth/roles.ts";
import { diskFault } from "../lib/fs/disk-care.ts";
import { refuseAmbiguous } from "../lib/net/request-head.ts";
import { currentTrace, inTrace } from "../lib/trace.ts";
import type { Endpoint } from "../protocol/endpoints/endpoint.ts";
import { type EndpointName, endpoints } from "../protocol/endpoints/endpoints.ts";
import { ServiceError, unless } from "../protocol/errors.ts";
import { MAX_BODY_BYTES, MAX_OPEN_BODY_BYTES } from "../protocol/limits.ts";
import { contextOf, type RequestContext } from "./audit-hook.ts";
import { claimsOf } from "./caller-credentials.ts";
import type { RateLimit } from "./limits/rate-limit.ts";
import { type AvatarSource, setSecurityHeaders } from "./page.ts";
import { type PageFiles, sendPageFile } from "./page-files.ts";
import { sendError, sendJson, sendMedia } from "./reply.ts";
import { bodyTooLarge, discardBody, isUpload, readJsonBody, uploadOf } from "./request-body.ts";
import type { Context, Media, Routes } from "./route.ts";
import { traced } from "./traced.ts";
import type { ListenerChecks } from "./upgrade.ts";

/** A body that is too large is read up to this length, so that its client receives the error. */
const MAX_UNREAD_BODY_BYTES = 16 * MAX_BODY_BYTES;

export type RouterOptions = ListenerChecks & {
  readonly routes: Routes;
  readonly rateLimits?: { readonly api: RateLimit; readonly sessions: RateLimit };
  readonly page?: PageFiles;
  readonly avatars?: AvatarSource;
};

type RequestInput = NonNullable<RequestContext["input"]>;

/** Any route, after its endpoint was looked up. */
type AnyRoute = (input: RequestInput, context: Context<Principal | undefined>) => Promise<unknown>;

type Mounted = { readonly name: EndpointName; readonly endpoint: Endpoint; readonly route: AnyRoute };

type Exchange = {
  readonly request: express.Request;
  readonly response: express.Response;
  readonly seen: RequestContext;
  readonly options: RouterOptions;
};

export function createRouter(options: RouterOptions): RequestListener {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "simple");
  // One spelling per path: otherwise a remote's answer at /API/… would get the page's security policy.
  app.enable("case sensitive routing");
  const contexts = new WeakMap<object, RequestContext>();
  const seenOf = (request: express.Request): RequestContext => {
    const seen = contexts.get(request) ?? contextOf(request, options.clientOf(request));
    contexts.set(request, seen);
    return seen;
  };
  /** Handlers of paths without parameters: a look-up is faster than a search through all patterns. */
  const direct = new Map<string, express.RequestHandler>();
  app.use((request, response, next) => {
    // Its client left while it waited for its turn: nothing would release what it opens.
    if (response.destroyed) return;
    const seen = seenOf(request);
    setSecurityHeaders(seen, response, options.clientOf(request), options.avatars ?? "own");
    logWhenClosed(seen, response, options);
    refuseAmbiguousOrHuge(request, response);
    checkPolicy(request, seen, options);
    if (!hasJsonBody(request)) void discardBody(request);
    const handler = direct.get(`${request.method} ${request.path}`);
    return handler === undefined ? next() : handler(request, response, next);
  });
  const all = mountedIn(options.routes);
  for (const mounted of all) {
    const { method, path } = mounted.endpoint;
    const handler = handlerOf(mounted, seenOf, options);
    app[method](path, handler);
    if (!path.includes(":")) direct.set(`${method.toUpperCase()} ${path}`, handler);
  }
  refuseOtherMethods(app, all);
  app.use((request, response) => {
    if (options.page !== undefined && sendPageFile(options.page, request, response)) return;
    const { method, path } = seenOf(request);
    throw new ServiceError("not_found", `there is nothing at ${method} ${path}`);
  });
  app.use(
    (error: unknown, request: express.Request, response: express.Response, _next: express.NextFunction) => {
      const known = knownError(error);
      if (known === undefined)
        options.log.error({ error, method: request.method, path: request.path }, "request failed");
      sendError(response, known ?? error, discardBody(request));
    },
  );
  return traced(app);
}

/** Nothing after such a request is read from its connection, because the next request's start is unknown. */
function refuseAmbiguousOrHuge(request: express.Request, response: express.Response): void {
  try {
    refuseAmbiguous(request);
    const isHuge = Number(request.headers["content-length"] ?? 0) > MAX_UNREAD_BODY_BYTES;
    if (isHuge && !isUpload(request)) throw bodyTooLarge(MAX_BODY_BYTES);
  } catch (error) {
    response.setHeader("connection", "close");
    throw error;
  }
}

/** A log line and metrics for each request; no headers and no query, which may hold a ticket. */
function logWhenClosed(seen: RequestContext, response: express.Response, options: RouterOptions): void {
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

function checkPolicy(request: express.Request, seen: RequestContext, options: RouterOptions): void {
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

function handlerOf(
  mounted: Mounted,
  seenOf: (request: express.Request) => RequestContext,
  options: RouterOptions,
): express.RequestHandler {
  return async (request, response) => {
    const seen = seenOf(request);
    const { name, endpoint } = mounted;
    seen.endpoint = name;
    let answer: unknown;
    try {
      answer = await answerOf(mounted, { request, response, seen, options });
    } catch (error) {
      options.auditHook?.({ ...seen, outcome: { error } });
      throw error;
    } finally {
      seen.answeredMs = performance.now();
    }
    options.auditHook?.({ ...seen, outcome: { answer } });
    const status = successStatus(endpoint, seen.input?.body);
    if ("json" in endpoint.reply) sendJson(response, status, answer);
    else if (isMedia(answer)) {
      // A stream may last for days; it ends with its login.
      using _login = seen.principal && options.whenOver(seen.principal, () => response.destroy());
      await sendMedia(response, status, answer).catch((error: unknown) => {
        // A client that disconnects is no failure.
        if (!response.destroyed) throw error;
      });
    }
  };
}

function successStatus({ reply }: Endpoint, body: unknown): number {
  if (!("json" in reply) || reply.other === undefined) return reply.status;
  return reply.other.isFor({ ...Object(body) }) ? reply.other.status : reply.status;
}

async function answerOf({ endpoint, route }: Mounted, exchange: Exchange): Promise<unknown> {
  const { request, response, seen, options } = exchange;
  const abort = new AbortController();
  // Aborting creates an error with a stack, so not for complete answers; a body that HEAD leaves unread has to end.
  response.once("close", () => {
    if (!response.writableFinished || request.method === "HEAD") abort.abort();
  });
  await authorise(endpoint, exchange);
  // The body may arrive long after the head, and its login may end meanwhile.
  using _login =
    seen.principal && !request.complete
      ? options.whenOver(seen.principal, () => request.destroy())
      : undefined;
  const { params, query } = request;
  // Read after the call was counted; without a login only a short body.
  const limit = seen.principal === undefined ? MAX_OPEN_BODY_BYTES : MAX_BODY_BYTES;
  const upload = isUpload(request) ? uploadOf(request) : undefined;
  const isJson = hasJsonBody(request) && upload === undefined;
  const body = isJson ? await readJsonBody(request, limit) : undefined;
  let input: RequestInput;
  try {
    input = {
      params: parse(endpoint.params, params),
      query: parse(endpoint.query, query),
      body: parse(endpoint.body, body === undefined ? {} : body),
    };
    seen.input = input;
  } finally {
    // Takes precedence over invalid input; comes after parsing because the audit log records the input.
    if (seen.principal !== undefined) requirePermission(seen.principal.rights, endpoint.need);
  }
  const { range, "user-agent": client, "last-event-id": lastEventId } = request.headers;
  return await route(input, {
    ...{ principal: seen.principal, address: seen.address, client, range, upload },
    signal: abort.signal,
    accepts: (...types) => request.accepts(types),
    origin: options.policy === undefined ? undefined : seen.origin,
    identified: () => identified(exchange),
    lastEventId: typeof lastEventId === "string" ? lastEventId : undefined,
    setHeader: (header, value) => void response.setHeader(header, value),
  });
}

function hasJsonBody({ path }: express.Request): boolean {
  return path.startsWith("/api/");
}

/** 405 for other methods of existing paths (RFC 9110, 15.5.6). */
function refuseOtherMethods(app: express.Express, mounted: readonly Mounted[]): void {
  for (const [path, all] of Map.groupBy(mounted, ({ endpoint }) => endpoint.path)) {
    const methods = all.map(({ endpoint: { method } }) =>
      method === "get" ? "GET, HEAD" : method.toUpperCase(),
    );
    const allowed = methods.join(", ");
    app.route(path).all(({ method }, response) => {
      response.setHeader("allow", allowed);
      const message = `${method} is not allowed on ${path}; allowed: ${allowed}`;
      throw new ServiceError("method_not_allowed", message);
    });
  }
}

const PLACES = { user: "api", stream: "event-stream", registry: "registry" } as const;

/** Authenticates and counts the call; a refused login counts for its address. */
async function authorise(endpoint: Endpoint, { request, response, seen, options }: Exchange): Promise<void> {
  const { address } = seen;
  const count = async (principal: Principal | undefined): Promise<void> => {
    if (endpoint.limit === "none" || options.rateLimits === undefined) return;
    const { api, sessions } = options.rateLimits;
    await api(request, response, { principal, address });
    // The headers then state the rest of the smaller limit.
    if (endpoint.limit === "sessions") await sessions(request, response, { principal, address });
  };
  if (endpoint.need === "open") return await count(undefined);
  try {
    const { token } = request.query;
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
  return await options.authenticate({ ...claims, authorization: undefined }).catch(unless("unauthorized"));
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

/** Errors of the disk and of express as ServiceError; undefined for internal errors. */
function knownError(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error.code === "internal_error" ? undefined : error;
  const fault = diskFault(error, "the server's files");
  if (fault !== undefined)
    return new ServiceError("disk_failed", `this could not be stored: ${fault}`, { cause: error });
  if (!(error instanceof Error) || !("status" in error)) return undefined;
  if (typeof error.status !== "number" || error.status >= 500) return undefined;
  return new ServiceError("invalid_request", "the request is malformed", { cause: error });
}

function mountedIn(routes: Routes): readonly Mounted[] {
  return Object.entries(routes).flatMap(([name, route]) =>
    isEndpointName(name) && isRoute(route) ? [{ name, endpoint: endpoints[name], route }] : [],
  );
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
