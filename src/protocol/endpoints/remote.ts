import { z } from "zod";
import {
  CreateJoinToken,
  JoinedRemote,
  JoinRemote,
  JoinTokenRecord,
  NewJoinToken,
  RemoteKeyRecord,
} from "../schemas/join.ts";
import { RegisterRemote, RemoteName, RemoteRecord, SetCordon } from "../schemas/remote.ts";
import { endpointsWith, json, media, Success } from "./endpoint.ts";

/** Not counted: each of perhaps a thousand remotes registers every minute with the same credentials. */
const registry = endpointsWith({
  tag: "remotes",
  need: "remotes:register",
  access: "registry",
  limit: "none",
});
const admin = endpointsWith({ tag: "remotes", need: "remotes:manage", errors: ["host_unreachable"] });
/** A forwarded request also needs the permission of its endpoint, see http/routes/forward.ts. */
const proxy = endpointsWith({
  tag: "remotes",
  need: "remotes:view",
  params: z.object({ name: RemoteName, path: z.array(z.string()) }),
  query: z.looseObject({}),
  reply: media("application/octet-stream", "the answer of the remote, with its status"),
  errors: ["remote_not_found", "remote_unreachable", "remote_timeout"],
});
const PROXY_PATH = "/api/remotes/:name/proxy/*path";
const PROXY_SUMMARY = "Any request about sessions, worktrees and git, to the remote itself";

/** Only on an HQ (specification 4.5, contract 6). */
export const remoteEndpoints = {
  listRemotes: registry.get("/api/remotes", "The remotes of this HQ", {
    need: "remotes:view",
    limit: "api",
    query: z.object({
      down: z
        .enum(["0", "1"])
        .default("0")
        .describe("1: also remotes that were removed within the last 90 s because they did not answer"),
    }),
    reply: json(z.array(RemoteRecord)),
  }),
  registerRemote: registry.post("/api/remotes/register", "Register a remote, or refresh its registration", {
    body: RegisterRemote,
    reply: json(Success.extend({ remote: RemoteRecord })),
    errors: ["remote_name_taken"],
  }),
  removeRemote: registry.delete("/api/remotes/:id", "Unregister a remote", {
    params: z.object({ id: z.string().max(64) }),
    reply: json(Success),
    errors: ["remote_not_found"],
  }),
  refreshSessions: registry.post(
    "/api/remotes/:name/refresh-sessions",
    "List the sessions of a remote again",
    {
      params: z.object({ name: RemoteName }),
      body: z.object({
        action: z.enum(["created", "deleted"]).optional(),
        sessionId: z.string().max(256).optional(),
      }),
      reply: json(Success.extend({ sessionCount: z.int() })),
      errors: ["remote_not_found", "remote_unreachable", "remote_timeout"],
    },
  ),
  cordonRemote: admin.post(
    "/api/remotes/:name/cordon",
    "Stop new sessions on a remote, or allow them again",
    {
      need: "servers:cordon",
      params: z.object({ name: RemoteName }),
      body: SetCordon,
      reply: json(Success.extend({ remote: RemoteRecord })),
      errors: ["remote_not_found", "remote_unreachable", "remote_timeout", "host_unreachable"],
    },
  ),
  proxyGet: proxy.get(PROXY_PATH, PROXY_SUMMARY, {}),
  proxyPost: proxy.post(PROXY_PATH, PROXY_SUMMARY, { body: z.unknown() }),
  proxyPatch: proxy.patch(PROXY_PATH, PROXY_SUMMARY, { body: z.unknown() }),
  proxyDelete: proxy.delete(PROXY_PATH, PROXY_SUMMARY, { body: z.unknown() }),
  joinRemote: admin.post(
    "/api/remotes/join",
    "A short-lived credential for a remote, for a signature by its key",
    {
      need: "open",
      // Not counted: every remote renews its credential here, and the signature cannot be guessed.
      limit: "none",
      body: JoinRemote,
      reply: json(JoinedRemote),
      errors: ["join_refused", "remote_name_taken", "host_unreachable"],
    },
  ),
  createJoinToken: admin.post("/api/remotes/join-tokens", "A token with which a remote enrolls its key", {
    body: CreateJoinToken,
    reply: json(NewJoinToken, 201),
    errors: ["too_many_join_tokens", "host_unreachable"],
  }),
  listJoinTokens: admin.get("/api/remotes/join-tokens", "Valid join tokens", {
    reply: json(z.array(JoinTokenRecord)),
  }),
  revokeJoinToken: admin.delete("/api/remotes/join-tokens/:tokenId", "Revoke a join token", {
    params: z.object({ tokenId: z.string().max(64) }),
    reply: json(Success),
    errors: ["join_token_not_found", "host_unreachable"],
  }),
  listRemoteKeys: admin.get("/api/remotes/keys", "Enrolled keys of remotes", {
    reply: json(z.array(RemoteKeyRecord)),
  }),
  revokeRemoteKey: admin.delete("/api/remotes/keys/:name", "Revoke the key of a remote", {
    params: z.object({ name: RemoteName }),
    reply: json(Success),
    errors: ["remote_not_found", "host_unreachable"],
  }),
};
