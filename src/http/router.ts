// The wire's server side: from the endpoint table and its handlers to something that answers HTTP requests.
import type { RequestListener } from "node:http";
import express from "express";
import type { z } from "zod";
import type { LoginWatch, RequestFacts } from "../auth/chain.ts";
import { enforcePolicy, type RequestPolicy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import type { Log } from "../log.ts";
import type { Endpoint } from "../protocol/endpoint.ts";
import { type EndpointName, endpoints } from "../protocol/endpoints.ts";
import { ServiceError } from "../protocol/errors.ts";
import { MAX_BODY_BYTES } from "../protocol/limits.ts";
import { PAGE_FILES, setSecurityHeaders } from "./page.ts";
import type { RateLimit } from "./rate-limit.ts";
import { sendError, sendJson, sendMedia } from "./reply.ts";
import type { Context, Media, Routes } from "./route.ts";

export type RouterOptions = {
  readonly routes: Routes;
  readonly authenticate: (facts: RequestFacts) => Promise<Principal>;
  readonly whenOver: LoginWatch;
  /** Undefined on the private unix socket, which no browser reaches. */
  readonly policy: RequestPolicy | undefined;
  readonly rateLimits: { readonly api: RateLimit; readonly sessions: RateLimit };
  /** Where the page's files are; undefined for none. */
  readonly pageDir: string | undefined;
  readonly log: Log;
};

/** Any handler, once its endpoint was looked up. */
type AnyRoute = (
  input: { params: unknown; query: unknown; body: unknown },
  context: Context,
) => Promise<unknown>;

export function createRouter(options: RouterOptions): RequestListener {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "simple");
  app.use(setSecurityHeaders);
  app.use(logRequests(options.log));
  app.use((request, _response, next) => {
    const { policy } = options;
    const { host, origin } = request.headers;
    if (policy !== undefined)
      enforcePolicy(policy, { method: request.method, isUpgrade: false, host, origin });
    next();
  });
  // Whatever its content type says: a body that is not read would be taken for none.
  app.use("/api", express.json({ limit: MAX_BODY_BYTES, strict: false, inflate: false, type: () => true }));
  for (const [name, route] of Object.entries(options.routes)) mount(app, name, route, options);
  refuseOtherMethods(app, options.routes);
  app.use("/api", (request) => {
    throw new ServiceError(
      "not_found",
      `there is nothing at ${request.method} ${request.originalUrl.split("?")[0]}`,
    );
  });
  if (options.pageDir !== undefined) app.use(express.static(options.pageDir, PAGE_FILES));
  app.use((request) => {
    throw new ServiceError("not_found", `there is nothing at ${request.path}`);
  });
  app.use(
    (error: unknown, request: express.Request, response: express.Response, _next: express.NextFunction) => {
      const known = knownError(error);
      if (known === undefined)
        options.log.error({ error, method: request.method, path: request.path }, "request failed");
      sendError(response, known ?? error);
    },
  );
  return app;
}

/** Without the query, which may hold a ticket. */
function logRequests(log: Log): express.RequestHandler {
  return ({ method, path, socket: { remoteAddress: address } }, response, next) => {
    const started = performance.now();
    response.once("close", () => {
      const ms = Math.round(performance.now() - started);
      log.debug({ method, path, status: response.statusCode, ms, address }, "request");
    });
    next();
  };
}

function mount(app: express.Express, name: string, route: unknown, options: RouterOptions): void {
  if (!isEndpointName(name) || !isRoute(route)) return;
  const endpoint: Endpoint = endpoints[name];
  app[endpoint.method](endpoint.path, async (request, response) => {
    const abort = new AbortController();
    response.once("close", () => abort.abort());
    const address = request.socket.remoteAddress;
    const principal = await authorise(endpoint, request, response, options);
    const { params, query } = request;
    const input = {
      params: parse(endpoint.params, params),
      query: parse(endpoint.query, query),
      body: parse(endpoint.body, request.body === undefined ? {} : request.body),
    };
    const { range, "last-event-id": lastEventId } = request.headers;
    const answer = await route(input, {
      ...{ principal, address, range, signal: abort.signal },
      lastEventId: typeof lastEventId === "string" ? lastEventId : undefined,
    });
    const { status } = endpoint.reply;
    if ("json" in endpoint.reply) sendJson(response, status, answer);
    else if (isMedia(answer)) {
      // A stream may go on for days; it ends with the login that opened it.
      using _login = principal && options.whenOver(principal, () => response.destroy());
      await sendBody(response, status, answer);
    }
  });
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
  request: express.Request,
  response: express.Response,
  options: RouterOptions,
): Promise<Principal | undefined> {
  const address = request.socket.remoteAddress;
  const count = (principal: Principal | undefined): Promise<void> => {
    if (endpoint.limit === "none") return Promise.resolve();
    return options.rateLimits[endpoint.limit](request, response, { principal, address });
  };
  if (endpoint.access === "open") {
    await count(undefined);
    return undefined;
  }
  try {
    const { token } = request.query;
    const principal = await options.authenticate({
      authorization: request.headers.authorization,
      queryToken: typeof token === "string" ? token : undefined,
      address,
      place: PLACES[endpoint.access],
    });
    await count(principal);
    return principal;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unauthorized") await count(undefined);
    throw error;
  }
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

/** What express and its body parser throw, in our terms; undefined for what is a fault of ours. */
function knownError(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error.code === "internal_error" ? undefined : error;
  if (!(error instanceof Error) || !("status" in error)) return undefined;
  if (error.status === 413)
    return new ServiceError("body_too_large", `a body has at most ${MAX_BODY_BYTES} bytes`);
  if ("type" in error && error.type === "entity.parse.failed") {
    return new ServiceError("invalid_json", "the body is no JSON", { cause: error });
  }
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
