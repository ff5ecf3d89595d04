import { z } from "zod";
import { FileName, FilePath, SavedFile } from "../schemas/file.ts";
import {
  CreateSession,
  Input,
  isVibeTunnelSpelling,
  Removal,
  SessionId,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../schemas/session.ts";
import { CreateShare, NewShare, Share, ShareMode } from "../schemas/share.ts";
import { SessionViewer } from "../schemas/viewer.ts";
import { endpointsWith, json, media, Success } from "./endpoint.ts";

const Id = z.object({ id: SessionId });
const Offset = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Present counts as set, as `?styles` and `?styles=1` do for VibeTunnel's clients; `0` and `false` do not. */
const Switch = z
  .string()
  .optional()
  .transform((value) => value !== undefined && value !== "0" && value !== "false");
/** For event streams: an EventSource cannot set headers. */
export const StreamToken = z.string().optional().describe("in place of the Authorization header");

const onHost = endpointsWith({ tag: "sessions", need: "sessions:manage", host: true });
const ofSession = endpointsWith({
  ...{ tag: "sessions", need: "sessions:view", host: true, params: Id },
  errors: ["session_not_found"],
});
const ofRunning = endpointsWith({
  ...{ tag: "sessions", need: "sessions:control", host: true, params: Id },
  errors: ["session_not_found", "session_not_running"],
});

const FILE_ERRORS = [
  ...(["session_not_found", "file_not_found", "forbidden", "too_many_transfers"] as const),
  ...(["git_failed", "git_busy", "host_incompatible"] as const),
] as const;

/** The session host serves these too, on its unix socket. */
export const sessionEndpoints = {
  listSessions: onHost.get("/api/sessions", "All sessions, newest first", {
    need: "sessions:view",
    reply: json(z.array(SessionRecord)),
  }),
  createSession: onHost.post("/api/sessions", "Run a program in a new terminal", {
    need: "sessions:create",
    limit: "sessions",
    body: CreateSession,
    reply: {
      status: 201,
      other: {
        status: 200,
        isFor: isVibeTunnelSpelling,
        description: "done, for a request with workingDir and without cwd",
      },
      json: SessionRecord,
    },
    errors: [
      "invalid_cwd",
      "command_not_found",
      "session_exists",
      "cordoned",
      "launch_failed",
      "disk_failed",
      "out_of_descriptors",
      "shutting_down",
    ],
  }),
  getSession: ofSession.get("/api/sessions/:id", "One session", { reply: json(SessionRecord) }),
  renameSession: ofSession.patch("/api/sessions/:id", "Rename a session", {
    need: "sessions:manage",
    body: z.object({ name: z.string().trim().min(1).max(256) }),
    reply: json(Success.extend({ name: z.string() })),
  }),
  deleteSession: ofSession.delete("/api/sessions/:id", "End a running session; remove an ended one", {
    need: "sessions:manage",
    query: z.object({
      if: z
        .literal("running")
        .optional()
        .describe("running: an ended session is not removed, and its exit code is the answer"),
    }),
    reply: json(Removal),
    errors: ["session_not_found", "session_running"],
  }),
  cleanupSession: ofSession.delete("/api/sessions/:id/cleanup", "Remove an ended session", {
    need: "sessions:manage",
    reply: json(Success.extend({ status: z.literal("removed") })),
    errors: ["session_not_found", "session_running"],
  }),
  cleanupExited: onHost.post("/api/cleanup-exited", "Remove all ended sessions", {
    reply: json(
      Success.extend({
        message: z.string(),
        localCleaned: z.int().describe("number of removed sessions of this machine"),
        cleanedSessions: z.array(z.string()).describe("ids of all removed sessions"),
        remoteResults: z
          .array(z.object({ remoteName: z.string(), cleaned: z.int(), error: z.string().optional() }))
          .describe("on an HQ: number of removed sessions of each remote, and errors"),
      }),
    ),
  }),
  inputSession: ofRunning.post("/api/sessions/:id/input", "Type text, a named key or bytes", {
    body: Input,
    reply: json(Success),
    errors: ["session_not_found", "session_not_running", "input_overflow"],
  }),
  resizeSession: ofRunning.post("/api/sessions/:id/resize", "Resize the terminal", {
    need: "sessions:resize",
    body: TerminalSize,
    reply: json(Success.extend(TerminalSize.shape)),
  }),
  killSession: ofRunning.post("/api/sessions/:id/kill", "Send a signal to all processes of the terminal", {
    need: "sessions:manage",
    body: z.object({ signal: SignalName.default("SIGTERM") }),
    reply: json(Success),
  }),
  markSession: ofRunning.post("/api/sessions/:id/markers", "Add a marker to the recording", {
    body: z.object({ label: z.string().max(1024) }),
    reply: json(Success),
  }),
  sessionText: ofSession.get("/api/sessions/:id/text", "The screen as plain text", {
    query: z.object({ scrollback: Switch, styles: Switch }),
    reply: media("text/plain; charset=utf-8", "rows joined by line feeds"),
  }),
  sessionBuffer: ofSession.get("/api/sessions/:id/buffer", "The screen as a SNAPSHOT_VT", {
    reply: media("application/octet-stream", "a SNAPSHOT_VT, version 1"),
  }),
  sessionResync: ofSession.get(
    "/api/sessions/:id/resync",
    "Bytes that draw the screen on a terminal after a reset",
    {
      query: z.object({ scrollback: z.enum(["0", "1"]).default("1") }),
      reply: media("application/octet-stream", "the payload of a RESYNC frame"),
    },
  ),
  sessionRecording: ofSession.get(
    "/api/sessions/:id/recording",
    "The asciicast v2 file, streamed while the session lives",
    {
      query: z.object({
        follow: z.enum(["0", "1"]).default("1").describe("0: end at the present instead of at the exit"),
      }),
      reply: media("application/x-asciicast", "asciicast v2"),
    },
  ),
  sessionStream: ofSession.get("/api/sessions/:id/stream", "Server-sent events of the recording", {
    access: "stream",
    query: z.object({
      token: StreamToken,
      after: z.coerce.number().int().min(0).optional().describe("the header Last-Event-ID takes precedence"),
    }),
    reply: media("text/event-stream", "the header, then one event for each line of the recording"),
  }),
  sessionOutput: ofSession.get("/api/sessions/:id/output", "The raw output, byte for byte", {
    query: z.object({
      from: Offset.default(0).describe("offset of the first byte"),
      to: Offset.optional().describe("offset after the last byte"),
    }),
    reply: media("application/octet-stream", "raw bytes; Range requests are answered with 206"),
    errors: ["session_not_found", "range_not_satisfiable"],
  }),
  sessionEvents: ofSession.get(
    "/api/sessions/:id/events",
    "Resizes, markers and the exit, with their offsets",
    {
      query: z.object({ from: Offset.default(0) }),
      reply: media("application/json", "an array of { time: seconds since the start, offset, kind, data? }"),
      errors: ["session_not_found", "range_not_satisfiable"],
    },
  ),
  uploadFile: ofRunning.post("/api/sessions/:id/files", "Save a file in the session's current directory", {
    need: "sessions:files",
    query: z.object({ name: FileName.describe("if it is taken, the file gets another one") }),
    upload: true,
    reply: json(SavedFile, 201),
    errors: [...FILE_ERRORS, "session_not_running", "body_too_large", "disk_failed", "request_timeout"],
  }),
  downloadFile: ofSession.get("/api/sessions/:id/files", "A file, as the session's user may read it", {
    need: "sessions:files",
    access: "stream",
    query: z.object({
      token: StreamToken,
      path: FilePath.describe("from the session's current directory, the home directory as ~, or absolute"),
    }),
    reply: media("application/octet-stream", "the bytes of the file"),
    errors: [...FILE_ERRORS, "not_a_file"],
  }),
};

const share = endpointsWith({
  ...{ tag: "shares", need: "sessions:manage", params: Id },
  errors: ["session_not_found"],
});

/** Share links, for the owner of the session and for admins, and who watches. */
export const shareEndpoints = {
  listViewers: share.get("/api/sessions/:id/viewers", "Who watches the session at this server", {
    need: "sessions:view",
    reply: json(z.array(SessionViewer)),
  }),
  createShare: share.post("/api/sessions/:id/share", "Create a share link for the session", {
    body: CreateShare,
    reply: json(NewShare, 201),
    errors: ["session_not_found", "too_many_shares", "forbidden"],
  }),
  listAllShares: share.get("/api/shares", "The valid share links of all sessions that you see", {
    params: z.object({}),
    errors: [],
    reply: json(z.array(Share)),
  }),
  listShares: share.get("/api/sessions/:id/shares", "The valid share links of the session", {
    reply: json(z.array(Share)),
  }),
  updateShare: share.patch(
    "/api/sessions/:id/shares/:shareId",
    "Let the guests of a share link type, or only watch; takes effect within 1 s and disconnects nobody",
    {
      params: z.object({ id: SessionId, shareId: z.string().max(64) }),
      body: z.object({ mode: ShareMode }),
      reply: json(Share),
      errors: ["session_not_found", "share_not_found", "forbidden"],
    },
  ),
  revokeShare: share.delete(
    "/api/sessions/:id/shares/:shareId",
    "Revoke a share link and disconnect its guests within 1 s",
    {
      params: z.object({ id: SessionId, shareId: z.string().max(64) }),
      reply: json(Success),
      errors: ["session_not_found", "share_not_found"],
    },
  ),
};
