import { z } from "zod";
import { RefreshSessions, RegisterRemote, RemoteName, RemoteRecord } from "../schemas/remote.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

/** A registration comes every minute from each of perhaps a thousand machines with the same credentials: not counted. */
const hq = { tag: "remotes", access: "registry", limit: "none", host: false } as const;

const proxy = {
  tag: "remotes",
  access: "user",
  limit: "api",
  host: false,
  path: "/api/remotes/:name/proxy/*path",
  summary: "Any request about sessions, worktrees and git, to a remote itself",
  params: z.object({ name: RemoteName, path: z.array(z.string()) }),
  query: z.looseObject({}),
  reply: {
    status: 200,
    media: "application/octet-stream",
    description: "what the remote answers, with its status",
  },
  errors: ["remote_not_found", "remote_unreachable", "remote_timeout"],
} as const;

/** On an HQ alone (specification 4.5, contract 6). */
export const remoteEndpoints = {
  listRemotes: {
    tag: "remotes",
    access: "registry",
    limit: "api",
    host: false,
    method: "get",
    path: "/api/remotes",
    summary: "The machines of this HQ",
    reply: { status: 200, json: z.array(RemoteRecord) },
    errors: [],
  },
  registerRemote: {
    ...hq,
    method: "post",
    path: "/api/remotes/register",
    summary: "Join this HQ, or stay in it",
    body: RegisterRemote,
    reply: { status: 200, json: Success.extend({ remote: RemoteRecord }) },
    errors: ["remote_name_taken"],
  },
  removeRemote: {
    ...hq,
    method: "delete",
    path: "/api/remotes/:id",
    summary: "Leave this HQ",
    params: z.object({ id: z.string().max(64) }),
    reply: { status: 200, json: Success },
    errors: ["remote_not_found"],
  },
  refreshSessions: {
    ...hq,
    method: "post",
    path: "/api/remotes/:name/refresh-sessions",
    summary: "The sessions of a remote have changed",
    params: z.object({ name: RemoteName }),
    body: RefreshSessions,
    reply: { status: 200, json: Success.extend({ sessionCount: z.int() }) },
    errors: ["remote_not_found", "remote_unreachable", "remote_timeout"],
  },
  proxyGet: { ...proxy, method: "get" },
  proxyPost: { ...proxy, method: "post", body: z.unknown() },
  proxyPatch: { ...proxy, method: "patch", body: z.unknown() },
  proxyDelete: { ...proxy, method: "delete", body: z.unknown() },
} as const satisfies Record<string, Endpoint>;
