// What a request does that an HQ sends on as it is, /api/remotes/NAME/proxy/…: the same as without the HQ in between.
import { z } from "zod";
import type { Endpoint } from "../protocol/endpoint.ts";
import { sessionEndpoints } from "../protocol/session-endpoints.ts";
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
    const params = matched(endpoint, path);
    const input = params && parsed(endpoint, body);
    if (params === undefined || input === undefined) continue;
    return actionOf(name)?.({ params, query: {}, body: input.body }, undefined);
  }
  return undefined;
}

/** The parameters of a path; undefined for another endpoint's. */
function matched(
  endpoint: Pick<Endpoint, "path">,
  path: readonly string[],
): Record<string, string> | undefined {
  const pattern = endpoint.path.split("/").slice(1);
  if (pattern.length !== path.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = path[index] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = segment;
    else if (part !== segment) return undefined;
  }
  return params;
}

function parsed(endpoint: Endpoint, body: unknown): { readonly body: unknown } | undefined {
  if (endpoint.body === undefined) return { body: undefined };
  const result = endpoint.body.safeParse(body ?? {});
  return result.success ? { body: result.data } : undefined;
}
