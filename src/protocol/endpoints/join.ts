import { z } from "zod";
import {
  CreateJoinToken,
  JoinedRemote,
  JoinRemote,
  JoinTokenRecord,
  NewJoinToken,
  RemoteKeyRecord,
} from "../schemas/join.ts";
import { RemoteName } from "../schemas/remote.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const admin = { tag: "remotes", access: "user", limit: "api", host: false } as const;

/** How remotes join an HQ with a key of their own (contract 10.4). */
export const joinEndpoints = {
  joinRemote: {
    // Not counted: every remote renews its credential here, and the proof itself cannot be guessed.
    ...{ tag: "remotes", access: "open", limit: "none", host: false },
    method: "post",
    path: "/api/remotes/join",
    summary: "A short-lived credential for a remote, for a signature by its key",
    body: JoinRemote,
    reply: { status: 200, json: JoinedRemote },
    errors: ["join_refused", "remote_name_taken", "host_unreachable"],
  },
  createJoinToken: {
    ...admin,
    method: "post",
    path: "/api/remotes/join-tokens",
    summary: "A token with which a remote enrolls its key",
    body: CreateJoinToken,
    reply: { status: 201, json: NewJoinToken },
    errors: ["too_many_join_tokens", "host_unreachable"],
  },
  listJoinTokens: {
    ...admin,
    method: "get",
    path: "/api/remotes/join-tokens",
    summary: "Join tokens that work",
    reply: { status: 200, json: z.array(JoinTokenRecord) },
    errors: ["host_unreachable"],
  },
  revokeJoinToken: {
    ...admin,
    method: "delete",
    path: "/api/remotes/join-tokens/:tokenId",
    summary: "End a join token",
    params: z.object({ tokenId: z.string().max(64) }),
    reply: { status: 200, json: Success },
    errors: ["join_token_not_found", "host_unreachable"],
  },
  listRemoteKeys: {
    ...admin,
    method: "get",
    path: "/api/remotes/keys",
    summary: "Keys that remotes join with",
    reply: { status: 200, json: z.array(RemoteKeyRecord) },
    errors: ["host_unreachable"],
  },
  revokeRemoteKey: {
    ...admin,
    method: "delete",
    path: "/api/remotes/keys/:name",
    summary: "End the key of a remote, which then needs a new join token",
    params: z.object({ name: RemoteName }),
    reply: { status: 200, json: Success },
    errors: ["remote_not_found", "host_unreachable"],
  },
} as const satisfies Record<string, Endpoint>;
