// What VibeTunnel's page asks for besides: docs/decisions.md has what it asks for and is not here.
import { z } from "zod";
import { SessionId, SessionRecord } from "../schemas/session.ts";
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const Id = z.object({ id: SessionId });
const page = { tag: "sessions", access: "user", limit: "api", host: false } as const;

const Activity = z.object({
  isActive: z.boolean().describe("whether there was output within the last second"),
  timestamp: z.string(),
  session: SessionRecord,
});

const Count = z.int().min(0);

/** Before the endpoints of one session, whose id no session has. */
export const vibeTunnelEndpoints = {
  listActivity: {
    ...page,
    method: "get",
    path: "/api/sessions/activity",
    summary: "Which sessions have output now, by their ids",
    reply: { status: 200, json: z.record(z.string(), Activity) },
    errors: [],
  },
  sessionActivity: {
    ...page,
    method: "get",
    path: "/api/sessions/:id/activity",
    summary: "Whether a session has output now",
    params: Id,
    reply: { status: 200, json: Activity },
    errors: ["session_not_found"],
  },
  sessionGitStatus: {
    ...page,
    method: "get",
    path: "/api/sessions/:id/git-status",
    summary: "Changed files and commits of a session's repository; all 0 outside one",
    params: Id,
    reply: {
      status: 200,
      json: z.object({
        ...{ modified: Count, added: Count.describe("files that git does not track"), staged: Count },
        ...{ deleted: Count, ahead: Count, behind: Count },
      }),
    },
    errors: ["session_not_found"],
  },
  resetSessionSize: {
    ...page,
    method: "post",
    path: "/api/sessions/:id/reset-size",
    summary: "Always refused: a session has no terminal of its own whose size it could take back",
    params: Id,
    reply: { status: 200, json: Success },
    errors: ["session_not_found", "session_not_running"],
  },
  serverStatus: {
    ...page,
    tag: "server",
    method: "get",
    path: "/api/server/status",
    summary: "What kind of server this is",
    reply: {
      status: 200,
      json: z.object({ macAppConnected: z.literal(false), isHQMode: z.boolean(), version: z.string() }),
    },
    errors: [],
  },
  serverEvents: {
    ...page,
    tag: "server",
    access: "stream",
    method: "get",
    path: "/api/events",
    summary: "The events of all sessions that one may see, as server-sent events",
    query: z.object({
      token: z
        .string()
        .optional()
        .describe("instead of the Authorization header, which an EventSource cannot send"),
    }),
    reply: { status: 200, media: "text/event-stream", description: "events, until the client leaves" },
    errors: ["rate_limited"],
  },
} as const satisfies Record<string, Endpoint>;
