import { isLoopbackName } from "../lib/net/address.ts";
import { formatOrigin, isOriginOf, parseHost, parseOrigin } from "../lib/net/origin.ts";
import { ServiceError } from "../protocol/errors.ts";

/** Which requests are allowed, whoever sends them (contract 5.8). */
export type RequestPolicy = {
  /** In addition to the server's own, as `formatOrigin` spells them. */
  readonly allowedOrigins: readonly string[];
  /** True without login on a loopback address: any other name would be DNS rebinding. */
  readonly isLoopbackHostOnly: boolean;
};

export type PolicyRequest = {
  readonly method: string;
  /** A WebSocket handshake is a GET and changes state. */
  readonly isUpgrade: boolean;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /**
   * What the client asked for, as a trusted proxy reports it. A page of the same name over http is another origin than one
   * over https.
   */
  readonly asked: { readonly host: string | undefined; readonly isHttps: boolean };
};

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** ServiceError `host_not_allowed` or `origin_not_allowed` for requests that a foreign page made a browser send. */
export function enforcePolicy(policy: RequestPolicy, request: PolicyRequest): void {
  if (policy.isLoopbackHostOnly) checkHost(request.host);
  if (request.isUpgrade || !SAFE_METHODS.has(request.method)) {
    checkOrigin(policy, request);
  }
}

/**
 * Requests without Origin do not come from a browser. `null`, which sandboxed pages and local files send, is refused.
 */
function checkOrigin(
  { allowedOrigins }: RequestPolicy,
  { origin: sent, asked }: Pick<PolicyRequest, "origin" | "asked">,
): void {
  if (sent === undefined) return;
  const origin = parseOrigin(sent);
  const server = parseHost(asked.host ?? "");
  const isOwn = origin !== undefined && server !== undefined && isOriginOf(origin, server);
  if (isOwn && (!asked.isHttps || origin.scheme === "https")) return;
  if (origin !== undefined && allowedOrigins.includes(formatOrigin(origin))) return;
  const message = "this origin may not use the server: name it with --allowed-origin";
  throw new ServiceError("origin_not_allowed", message);
}

function checkHost(sent: string | undefined): void {
  const host = parseHost(sent ?? "");
  if (host !== undefined && isLoopbackName(host.name)) return;
  const message = "without login the server answers only as localhost: use that name, or configure a login";
  throw new ServiceError("host_not_allowed", message);
}
