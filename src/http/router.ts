// The wire's server side: from the endpoint table and its handlers to something that answers HTTP requests.
import type { RequestListener } from "node:http";
import express from "express";
import type { z } from "zod";
import type { LoginWatch, RequestClaims } from "../auth/chain.ts";
import { enforcePolicy, type RequestPolicy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import { ENDPOINT_NEEDS, permits, refusalOf } from "../auth/roles.ts";
import { diskFault } from "../lib/fs/disk-care.ts";
import { refuseAmbiguous } from "../lib/net/request-head.ts";
import type { Log } from "../log.ts";
import type { Endpoint } from "../protocol/endpoints/endpoint.ts";
import { type EndpointName, endpoints } from "../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_BODY_BYTES, MAX_OPEN_BODY_BYTES } from "../protocol/limits.ts";
import { audited, contextOf, type RequestAuditHook, type RequestContext } from "./audit-hook.ts";
import { claimsOf } from "./caller-credentials.ts";
import type { ClientOf } from "./client-address.ts";
import { AccessLog } from "./limits/access-log.ts";
import type { RateLimit } from "./limits/rate-limit.ts";
import { type AvatarSource, setSecurityHeaders } from "./page.ts";
import { type PageFiles, sendPageFile } from "./page-files.ts";
import { sendError, sendJson, sendMedia } from "./reply.ts";
import { bodyTooLarge, discardBody, readJsonBody } from "./request-body.ts";
import type { RequestMeter } from "./request-meter.ts";
import type { Context, Media, Routes } from "./route.ts";
import { traced } from "./traced.ts";

/** A body that is too large is taken up to this length, so that its client hears why it was refused. */
const MAX_UNREAD_BODY_BYTES = 16 * MAX_BODY_BYTES;

export type RouterOptions = {
  readonly routes: Routes;
  readonly authenticate: (claims: RequestClaims) => Promise<Principal>;
  readonly whenOver: LoginWatch;
  readonly clientOf: ClientOf;
  /** Undefined on the private unix socket, which no browser reaches. */
  readonly policy: RequestPolicy | undefined;
  readonly rateLimits: { readonly api: RateLimit; readonly sessions: RateLimit };
  readonly page?: PageFiles;
  /** From where the page shows pictures. */
  readonly avatars?: AvatarSource;
  readonly auditHook?: RequestAuditHook | undefined;
  readonly meter?: RequestMeter | undefined;
  readonly log: Log;
};

type RequestInput = { readonly params: unknown; readonly query: unknown; readonly body: unknown };

/** Any handler, once its endpoint was looked up. */
type AnyRoute = (input: RequestInput, context: Context) => Promise<unknown>;

export function createRouter(options: RouterOptions): RequestListener {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "simple");
  // A path has one spelling: what a remote answers at /API/… would come with the policy of the page.
  app.enable("case sensitive routing");
  app.use((request, response, next) => {
    setSecurityHeaders(request, response, options.clientOf(request), options.avatars ?? "own");
    next();
  });
  const accessLog = new AccessLog(options);
  app.use((request, response, next) => {
    accessLog.begin(request, response);
    next();
  });
  app.use((request, response, next) => {
    refuseUnclear(request, response);
    letIn(request, options);
    if (!hasJsonBody(request)) discardBody(request);
    next();
  });
  for (const [name, route] of Object.entries(options.routes))
    mount(app, name, route, { ...options, accessLog });
  refuseOtherMethods(app, options.routes);
  app.use("/api", (request) => {
    throw new ServiceError(
      "not_found",
      `there is nothing at ${request.method} ${request.originalUrl.split("?")[0]}`,
    );
  });
  app.use((request, response, next) => {
    if (options.page === undefined || !sendPageFile(options.page, request, response)) next();
  });
  app.use((request) => {
    throw new ServiceError("not_found", `there is nothing at ${request.path}`);
  });
  app.use(
    (error: unknown, request: express.Request, response: express.Response, _next: express.NextFunction) => {
      const known = knownError(error);
      if (known === undefined)
        options.log.error({ error, method: request.method, path: request.path }, "request failed");
      discardBody(request);
      sendError(response, known ?? error);
    },
  );
  return traced(app);
}

/** What comes after such a request on its connection is not looked at: nobody knows where it begins, or would wait for it. */
function refuseUnclear(request: express.Request, response: express.Response): void {
  try {
    refuseAmbiguous(request);
    if (Number(request.headers["content-length"] ?? 0) > MAX_UNREAD_BODY_BYTES)
      throw bodyTooLarge(MAX_BODY_BYTES);
  } catch (error) {
    response.setHeader("connection", "close");
    throw error;
  }
}

/** Throws for what is let in by nobody, whoever sends it. */
function letIn(request: express.Request, { policy, auditHook, clientOf }: RouterOptions): void {
  if (policy === undefined) return;
  const client = clientOf(request);
  const { host, origin } = request.headers;
  try {
    enforcePolicy(policy, { method: request.method, isUpgrade: false, host, origin, asked: client });
  } catch (error) {
    auditHook?.({ ...contextOf(request, client), outcome: { error } });
    throw error;
  }
}

function mount(
  app: express.Express,
  name: string,
  route: unknown,
  options: RouterOptions & { readonly accessLog: AccessLog },
): void {
  if (!isEndpointName(name) || !isRoute(route)) return;
  const endpoint: Endpoint = endpoints[name];
  app[endpoint.method](endpoint.path, async (request, response) => {
    const seen: RequestContext = { ...contextOf(request, options.clientOf(request)), endpoint: name };
    const { accessLog } = options;
    accessLog.found(response, endpoint.path, seen);
    const answer = await audited(seen, options.auditHook, () => {
      return answerOf({ name, endpoint, route }, { request, response }, { seen, options });
    }).finally(() => accessLog.answered(response));
    const status = successStatus(endpoint, seen.input?.body);
    if ("json" in endpoint.reply) sendJson(response, status, answer);
    else if (isMedia(answer)) {
      // A stream may go on for days; it ends with the login that opened it.
      using _login = seen.principal && options.whenOver(seen.principal, () => response.destroy());
      await sendBody(response, status, answer);
    }
  });
}

function successStatus({ reply }: Endpoint, body: unknown): number {
  if (!("json" in reply) || reply.other === undefined) return reply.status;
  return reply.other.isFor({ ...Object(body) }) ? reply.other.status : reply.status;
}

type Mounted = { readonly name: EndpointName; readonly endpoint: Endpoint; readonly route: AnyRoute };

async function answerOf(
  { name, endpoint, route }: Mounted,
  { request, response }: { readonly request: express.Request; readonly response: express.Response },
  { seen, options }: { readonly seen: RequestContext; readonly options: RouterOptions },
): Promise<unknown> {
  const abort = new AbortController();
  // To abort makes an error with a stack: not where everything was answered. A body that HEAD leaves unread has to end.
  response.once("close", () => {
    if (!response.writableFinished || request.method === "HEAD") abort.abort();
  });
  await authorise(endpoint, { request, response }, { seen, options });
  const { params, query } = request;
  // It is read after the call was counted; a stranger's is short.
  const limit = seen.principal === undefined ? MAX_OPEN_BODY_BYTES : MAX_BODY_BYTES;
  const body = hasJsonBody(request) ? await readJsonBody(request, limit) : undefined;
  let input: RequestInput;
  try {
    input = {
      params: parse(endpoint.params, params),
      query: parse(endpoint.query, query),
      body: parse(endpoint.body, body === undefined ? {} : body),
    };
    seen.input = input;
  } finally {
    // Before what is wrong with the input; the audit log tells of it with what was asked for.
    if (seen.principal !== undefined) refuseOutsiders(name, seen.principal);
  }
  const { range, accept, "user-agent": client, "last-event-id": lastEventId } = request.headers;
  return await route(input, {
    ...{ principal: seen.principal, address: seen.address, client, range, accept, signal: abort.signal },
    origin: options.policy === undefined ? undefined : seen.origin,
    identified: () => identified(request, { seen, options }),
    lastEventId: typeof lastEventId === "string" ? lastEventId : undefined,
    setHeader: (header, value) => void response.setHeader(header, value),
  });
}

function hasJsonBody({ path }: express.Request): boolean {
  return path.startsWith("/api/");
}

/** Any other method on a path that is there (RFC 9110, 15.5.6). */
function refuseOtherMethods(app: express.Express, routes: Routes): void {
  const mounted = Object.keys(routes)
    .filter(isEndpointName)
    .map((name): Endpoint => endpoints[name]);
  for (const [path, all] of Map.groupBy(mounted, (endpoint) => endpoint.path)) {
    const allowed = all
      .map(({ method }) => (method === "get" ? "GET, HEAD" : method.toUpperCase()))
      .join(", ");
    app.all(path, (request, response) => {
      response.setHeader("allow", allowed);
      throw new ServiceError(
        "method_not_allowed",
        `${request.method} is not for ${path}, which takes ${allowed}`,
      );
    });
  }
}

/** A client that leaves in the middle of a body is no failure of anybody. */
async function sendBody(response: express.Response, status: number, media: Media): Promise<void> {
  try {
    await sendMedia(response, status, media);
  } catch (error) {
    if (!response.destroyed) throw error;
  }
}

const PLACES = { user: "api", stream: "event-stream", registry: "registry" } as const;

/** Who asks, counted against the limit; a refused login counts for its address. */
async function authorise(
  endpoint: Endpoint,
  { request, response }: { readonly request: express.Request; readonly response: express.Response },
  { seen, options }: { readonly seen: RequestContext; readonly options: RouterOptions },
): Promise<void> {
  const { address } = seen;
  const count = async (principal: Principal | undefined): Promise<void> => {
    if (endpoint.limit === "none") return;
    const { api, sessions } = options.rateLimits;
    await api(request, response, { principal, address });
    // What is left of the smaller limit is what the headers say then.
    if (endpoint.limit === "sessions") await sessions(request, response, { principal, address });
  };
  if (endpoint.access === "open") {
    await count(undefined);
    return;
  }
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

/** Who asks, were there no login in the request: by a proxy, from this machine, or where nobody logs in. */
async function identified(
  request: express.Request,
  { seen: { address }, options }: { readonly seen: RequestContext; readonly options: RouterOptions },
): Promise<Principal | undefined> {
  const claims = claimsOf(request, { queryToken: undefined, address, place: "api" });
  try {
    return await options.authenticate({ ...claims, authorization: undefined });
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unauthorized") return undefined;
    throw error;
  }
}

/** Who is logged in, but in a role that this endpoint is not for. */
function refuseOutsiders(name: EndpointName, { rights }: Principal): void {
  const need = ENDPOINT_NEEDS[name];
  if (!permits(rights, need)) throw new ServiceError("forbidden", refusalOf(rights, need));
}

function parse(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => ({
    path: path.map(String).join("."),
    message,
  }));
  const [first] = issues;
  const where = first === undefined || first.path === "" ? "" : `${first.path}: `;
  throw new ServiceError("invalid_request", `${where}${first?.message ?? "invalid"}`, {
    details: { issues },
  });
}

/** What the disk and express throw, in our terms; undefined for what is a fault of ours. */
function knownError(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error.code === "internal_error" ? undefined : error;
  const fault = diskFault(error, "the server's files");
  if (fault !== undefined)
    return new ServiceError("disk_failed", `this could not be stored: ${fault}`, { cause: error });
  if (!(error instanceof Error) || !("status" in error)) return undefined;
  if (typeof error.status !== "number" || error.status >= 500) return undefined;
  return new ServiceError("invalid_request", "the request is malformed", { cause: error });
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
