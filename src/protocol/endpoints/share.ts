import { z } from "zod";
import { SessionId } from "../schemas/session.ts";
import { CreateShare, NewShare, Share } from "../schemas/share.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const share = { tag: "shares", access: "user", limit: "api", host: false } as const;

/** Links that open one session to whoever has them. For the session's owner, and those who may everything. */
export const shareEndpoints = {
  createShare: {
    ...share,
    method: "post",
    path: "/api/sessions/:id/share",
    summary: "A link that opens this session to whoever has it",
    params: z.object({ id: SessionId }),
    body: CreateShare,
    reply: { status: 201, json: NewShare },
    errors: ["session_not_found", "too_many_shares", "forbidden"],
  },
  listShares: {
    ...share,
    method: "get",
    path: "/api/sessions/:id/shares",
    summary: "The links of this session that work now",
    params: z.object({ id: SessionId }),
    reply: { status: 200, json: z.array(Share) },
    errors: ["session_not_found"],
  },
  revokeShare: {
    ...share,
    method: "delete",
    path: "/api/sessions/:id/shares/:shareId",
    summary: "Revoke a link: whoever came by it is out within a second",
    params: z.object({ id: SessionId, shareId: z.string().max(64) }),
    reply: { status: 200, json: Success },
    errors: ["session_not_found", "share_not_found"],
  },
} as const satisfies Record<string, Endpoint>;
