// Endpoints that only VibeTunnel's page uses; docs/decisions.md lists those that are missing here.
import { z } from "zod";
import { SessionId, SessionRecord } from "../schemas/session.ts";
import { endpointsWith, json, media, Success } from "./endpoint.ts";
import { StreamToken } from "./session.ts";

const Count = z.int().min(0);
const Activity = z.object({
  isActive: z.boolean().describe("whether there was output within the last second"),
  timestamp: z.string(),
  session: SessionRecord,
});

const server = endpointsWith({ tag: "server", need: "login" });
const sessions = endpointsWith({ tag: "sessions", need: "sessions:view" });
const ofSession = endpointsWith({
  ...{ tag: "sessions", need: "sessions:view", params: z.object({ id: SessionId }) },
  errors: ["session_not_found"],
});

/** `activity` is no session id, so listActivity comes before the endpoints of one session. */
export const vibeTunnelEndpoints = {
  listActivity: sessions.get("/api/sessions/activity", "Which sessions have output now, by id", {
    reply: json(z.record(z.string(), Activity)),
  }),
  sessionActivity: ofSession.get("/api/sessions/:id/activity", "Whether a session has output now", {
    reply: json(Activity),
  }),
  sessionGitStatus: ofSession.get(
    "/api/sessions/:id/git-status",
    "Git status of a session; 0 outside a repository",
    {
      reply: json(
        z.object({
          ...{ modified: Count, added: Count.describe("untracked files"), staged: Count },
          ...{ deleted: Count, ahead: Count, behind: Count },
        }),
      ),
    },
  ),
  resetSessionSize: ofSession.post(
    "/api/sessions/:id/reset-size",
    "Always refused: a session has no native terminal size",
    {
      need: "sessions:resize",
      reply: json(Success),
      errors: ["session_not_found", "session_not_running"],
    },
  ),
  serverStatus: server.get("/api/server/status", "Mode and version of the server", {
    reply: json(z.object({ macAppConnected: z.literal(false), isHQMode: z.boolean(), version: z.string() })),
  }),
  serverEvents: server.get("/api/events", "The events of all visible sessions, as server-sent events", {
    need: "sessions:view",
    access: "stream",
    query: z.object({ token: StreamToken }),
    reply: media("text/event-stream", "events, until the client disconnects"),
    errors: ["rate_limited"],
  }),
};
