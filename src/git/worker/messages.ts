// What a session host and a git worker send each other, one JSON text a line over a socket that the worker inherits.
// The worker is a user's process: the host checks every message from it.
import { z } from "zod";
import { GitNotification } from "../../protocol/schemas/follow.ts";
import { GitStatus } from "../../protocol/schemas/session.ts";
import { FollowEntry } from "../follow/list.ts";
import { MAX_FOLLOWED_REPOSITORIES } from "../git-limits.ts";

/** Of one message, in UTF-16 units: an answer holds at most what git may print, escaped. */
export const MAX_WORKER_MESSAGE_LENGTH = 64 * 1024 * 1024;

const HookPlace = z.union([
  z.object({ node: z.string(), main: z.string(), socket: z.string() }),
  z.object({ node: z.string(), main: z.string(), controlDir: z.string() }),
]);

/** From the host. */
export const ToWorker = z.discriminatedUnion("type", [
  /** The first message. */
  z.object({ type: z.literal("begin"), target: HookPlace, entries: z.array(FollowEntry) }),
  /** An endpoint with its input, for a user. */
  z.object({
    ...{ type: z.literal("call"), number: z.int(), name: z.string(), user: z.string() },
    input: z.object({ params: z.unknown(), query: z.unknown(), body: z.unknown() }).partial(),
  }),
  /** Nobody waits for that answer any more. */
  z.object({ type: z.literal("cancel"), number: z.int() }),
  /** A session is in that folder. */
  z.object({ type: z.literal("enter"), id: z.int(), cwd: z.string(), isLive: z.boolean() }),
  /** Its program has ended. */
  z.object({ type: z.literal("ended"), id: z.int() }),
  z.object({ type: z.literal("leave"), id: z.int() }),
  /** Somebody lists the sessions. */
  z.object({ type: z.literal("listed") }),
  /** Sessions in these folders had output, or have viewers. */
  z.object({ type: z.literal("check"), cwds: z.array(z.string()) }),
  /** Something may have happened in a followed repository. */
  z.object({ type: z.literal("hint"), repoPath: z.string() }),
  /** The answer to "store". */
  z.object({ type: z.literal("stored"), number: z.int(), error: z.string().optional() }),
  /** Whether it has anything to watch. */
  z.object({ type: z.literal("is-idle") }),
]);
export type ToWorker = z.infer<typeof ToWorker>;

const Fields = z.record(z.string(), z.unknown());
/** Records of sessions go to everybody who may list them. */
const MAX_FACTS_LENGTH = 16_384;
const Facts = GitStatus.refine((facts) => JSON.stringify(facts).length <= MAX_FACTS_LENGTH, "too long");

/** From the worker. */
export const FromWorker = z.discriminatedUnion("type", [
  /** The answer to a call: JSON as text. */
  z.object({ type: z.literal("answer"), number: z.int(), body: z.string() }),
  z.object({
    ...{ type: z.literal("failure"), number: z.int() },
    error: z.object({ error: z.string(), code: z.string(), details: Fields }),
  }),
  /** What is known of the folder of that session. */
  z.object({ type: z.literal("facts"), id: z.int(), facts: Facts.optional() }),
  /** Follow mode has something to tell. */
  z.object({ type: z.literal("notice"), notification: GitNotification, user: z.string() }),
  /** The same for those who watch sessions in one of the working trees `tops`. */
  z.object({
    ...{ type: z.literal("announce"), notification: GitNotification },
    ...{ user: z.string(), tops: z.array(z.string()) },
  }),
  /** The followed repositories are these now. */
  z.object({
    ...{ type: z.literal("store"), number: z.int() },
    entries: z.array(FollowEntry).max(MAX_FOLLOWED_REPOSITORIES),
  }),
  /** The answer to "is-idle". */
  z.object({ type: z.literal("idle"), isIdle: z.boolean() }),
  z.object({
    type: z.literal("log"),
    level: z.enum(["info", "warn", "error"]),
    fields: Fields,
    message: z.string(),
  }),
]);
export type FromWorker = z.infer<typeof FromWorker>;

/** What the worker answers to `gitEvent`: the host knows the sessions. */
export const SeenEvent = z.object({
  repoPath: z.string(),
  branch: z.string().optional(),
  followMode: z.boolean(),
  tops: z.array(z.string()),
});
export type SeenEvent = z.infer<typeof SeenEvent>;
