import { z } from "zod";
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
import type { Endpoint } from "./endpoint.ts";
import { Success } from "./success.ts";

const Id = z.object({ id: SessionId });
const Offset = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Present counts as set, as `?styles` and `?styles=1` do for old clients; `0` and `false` do not. */
const Switch = z
  .string()
  .optional()
  .transform((value) => value !== undefined && value !== "0" && value !== "false");
const onHost = { tag: "sessions", access: "user", limit: "api", host: true } as const;

/** What a session host answers too, on its unix socket. */
export const sessionEndpoints = {
  listSessions: {
    ...onHost,
    method: "get",
    path: "/api/sessions",
    summary: "All sessions, newest first",
    reply: { status: 200, json: z.array(SessionRecord) },
    errors: [],
  },
  createSession: {
    ...onHost,
    limit: "sessions",
    method: "post",
    path: "/api/sessions",
    summary: "Run a program in a new terminal",
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
      "launch_failed",
      "disk_failed",
      "out_of_descriptors",
      "shutting_down",
    ],
  },
  getSession: {
    ...onHost,
    method: "get",
    path: "/api/sessions/:id",
    summary: "One session",
    params: Id,
    reply: { status: 200, json: SessionRecord },
    errors: ["session_not_found"],
  },
  renameSession: {
    ...onHost,
    method: "patch",
    path: "/api/sessions/:id",
    summary: "Give a session another name",
    params: Id,
    body: z.object({ name: z.string().trim().min(1).max(256) }),
    reply: { status: 200, json: Success.extend({ name: z.string() }) },
    errors: ["session_not_found"],
  },
  deleteSession: {
    ...onHost,
    method: "delete",
    path: "/api/sessions/:id",
    params: Id,
    summary: "End a running session; remove an ended one with its recording",
    reply: { status: 200, json: Removal },
    errors: ["session_not_found"],
  },
  cleanupSession: {
    ...onHost,
    method: "delete",
    path: "/api/sessions/:id/cleanup",
    summary: "Remove an ended session",
    params: Id,
    reply: { status: 200, json: Success.extend({ status: z.literal("removed") }) },
    errors: ["session_not_found", "session_running"],
  },
  cleanupExited: {
    ...onHost,
    method: "post",
    path: "/api/cleanup-exited",
    summary: "Remove all ended sessions",
    reply: {
      status: 200,
      json: Success.extend({
        message: z.string(),
        localCleaned: z.int().describe("how many of this machine's were removed"),
        cleanedSessions: z.array(z.string()).describe("the ids of all that were removed"),
        remoteResults: z
          .array(z.object({ remoteName: z.string(), cleaned: z.int(), error: z.string().optional() }))
          .describe("on an HQ: how many of each remote's were removed, and why others were not"),
      }),
    },
    errors: [],
  },
  inputSession: {
    ...onHost,
    method: "post",
    path: "/api/sessions/:id/input",
    summary: "Type text, a named key or bytes",
    params: Id,
    body: Input,
    reply: { status: 200, json: Success },
    errors: ["session_not_found", "session_not_running", "input_overflow"],
  },
  resizeSession: {
    ...onHost,
    method: "post",
    path: "/api/sessions/:id/resize",
    summary: "Resize the terminal",
    params: Id,
    body: TerminalSize,
    reply: { status: 200, json: Success.extend(TerminalSize.shape) },
    errors: ["session_not_found", "session_not_running"],
  },
  killSession: {
    ...onHost,
    method: "post",
    path: "/api/sessions/:id/kill",
    summary: "Send a signal to all processes of the terminal",
    params: Id,
    body: z.object({ signal: SignalName.default("SIGTERM") }),
    reply: { status: 200, json: Success },
    errors: ["session_not_found", "session_not_running"],
  },
  markSession: {
    ...onHost,
    method: "post",
    path: "/api/sessions/:id/markers",
    summary: "Put a marker into the recording",
    params: Id,
    body: z.object({ label: z.string().max(1024) }),
    reply: { status: 200, json: Success },
    errors: ["session_not_found", "session_not_running"],
  },
  sessionText: {
    ...onHost,
    method: "get",
    path: "/api/sessions/:id/text",
    summary: "The screen as plain text",
    params: Id,
    query: z.object({ scrollback: Switch, styles: Switch }),
    reply: { status: 200, media: "text/plain; charset=utf-8", description: "rows joined by line feeds" },
    errors: ["session_not_found"],
  },
  sessionBuffer: {
    ...onHost,
    method: "get",
    path: "/api/sessions/:id/buffer",
    summary: "The screen as a SNAPSHOT_VT",
    params: Id,
    reply: { status: 200, media: "application/octet-stream", description: "a SNAPSHOT_VT, version 1" },
    errors: ["session_not_found"],
  },
  sessionResync: {
    ...onHost,
    method: "get",
    path: "/api/sessions/:id/resync",
    params: Id,
    query: z.object({ scrollback: z.enum(["0", "1"]).default("1") }),
    summary: "What draws the screen, its scrollback and modes on a terminal that was just reset",
    reply: { status: 200, media: "application/octet-stream", description: "the payload of a RESYNC frame" },
    errors: ["session_not_found"],
  },
  sessionRecording: {
    ...onHost,
    method: "get",
    path: "/api/sessions/:id/recording",
    summary: "The asciicast v2 file, streamed while the session lives",
    params: Id,
    query: z.object({
      follow: z.enum(["0", "1"]).default("1").describe("0: end at the present instead of at the exit"),
    }),
    reply: { status: 200, media: "application/x-asciicast", description: "asciicast v2" },
    errors: ["session_not_found"],
  },
  sessionStream: {
    ...onHost,
    access: "stream",
    method: "get",
    path: "/api/sessions/:id/stream",
    summary: "Server-sent events of the recording",
    params: Id,
    query: z.object({
      token: z
        .string()
        .optional()
        .describe("instead of the Authorization header, which an EventSource cannot send"),
      after: z.coerce
        .number()
        .int()
        .min(0)
        .optional()
        .describe("as the header Last-Event-ID, which comes first"),
    }),
    reply: {
      status: 200,
      media: "text/event-stream",
      description: "the header, then one event for each line of the recording",
    },
    errors: ["session_not_found"],
  },
  sessionOutput: {
    ...onHost,
    method: "get",
    path: "/api/sessions/:id/output",
    summary: "The raw output, byte for byte",
    params: Id,
    query: z.object({
      from: Offset.default(0).describe("offset of the first byte"),
      to: Offset.optional().describe("offset after the last byte"),
    }),
    reply: {
      status: 200,
      media: "application/octet-stream",
      description: "raw bytes; Range requests are answered with 206",
    },
    errors: ["session_not_found", "range_not_satisfiable"],
  },
  sessionEvents: {
    ...onHost,
    method: "get",
    path: "/api/sessions/:id/events",
    summary: "Resizes, markers and the exit, with their offsets",
    params: Id,
    query: z.object({ from: Offset.default(0) }),
    reply: {
      status: 200,
      media: "application/json",
      description: "an array of { time: seconds since the start, offset, kind, data? }",
    },
    errors: ["session_not_found"],
  },
} as const satisfies Record<string, Endpoint>;
