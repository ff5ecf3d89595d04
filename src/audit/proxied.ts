// What a request does that an HQ sends on as it is, /api/remotes/NAME/proxy/…: the same as without the HQ in between.
import { z } from "zod";
import { type Endpoint, matchPath } from "../protocol/endpoints/endpoint.ts";
import { sessionEndpoints } from "../protocol/endpoints/session.ts";
import { type AuditAction, actionOf } from "./actions.ts";

const Proxied = z.object({ name: z.string(), path: z.array(z.string()) });

export type ProxiedRequest = {
  readonly method: string;
  readonly params: unknown;
  readonly body: unknown;
};

/** Undefined for what only reads and is not a view of a session. */
export function proxiedAction({ method, params, body }: ProxiedRequest): AuditAction | undefined {
  const proxied = Proxied.safeParse(params);
  if (!proxied.success) return undefined;
  const { name: remote, path } = proxied.data;
  const known = sessionAction(method, path[0] === "api" ? path : ["api", ...path], body);
  if (known !== undefined) return { ...known, remote };
  if (method === "GET" || method === "HEAD") return undefined;
  return { action: "remote.request", remote, details: { method, path: path.join("/") } };
}

function sessionAction(method: string, path: readonly string[], body: unknown): AuditAction | undefined {
  for (const [name, endpoint] of Object.entries(sessionEndpoints)) {
    if (endpoint.method.toUpperCase() !== method) continue;
    const params = matchPath(endpoint, path);
    const input = params && parsed(endpoint, body);
    if (params === undefined || input === undefined) continue;
    return actionOf(name)?.({ params, query: {}, body: input.body }, undefined);
  }
  return undefined;
}

function parsed(endpoint: Endpoint, body: unknown): { readonly body: unknown } | undefined {
  if (endpoint.body === undefined) return { body: undefined };
  const result = endpoint.body.safeParse(body ?? {});
  return result.success ? { body: result.data } : undefined;
}
