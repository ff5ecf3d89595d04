// Messages between a session host and a git worker: one JSON text a line over a socket that the worker inherits.
// The worker is a user's process: the host validates every message from it.
import { z } from "zod";
import { GitEventReply, GitNotification } from "../../protocol/schemas/follow.ts";
import { GitStatus } from "../../protocol/schemas/session.ts";
import { FollowEntry } from "../follow/list.ts";
import { MAX_FOLLOWED_REPOSITORIES } from "../git-limits.ts";

/** Of one message, in UTF-16 units: an answer holds at most the escaped output of git. */
export const MAX_WORKER_MESSAGE_LENGTH = 64 * 1024 * 1024;

const HookTarget = z.object({ node: z.string(), main: z.string(), controlDir: z.string() });

/** The sessions in a folder: programs run, all programs have ended, there are no sessions any more. */
const FolderState = z.enum(["live", "ended", "left"]);
export type FolderState = z.infer<typeof FolderState>;

/** From the host. */
export const ToWorker = z.discriminatedUnion("type", [
  /** The first message. */
  z.object({ type: z.literal("begin"), target: HookTarget.optional(), entries: z.array(FollowEntry) }),
  /** An endpoint with its input, for a user. */
  z.object({
    ...{ type: z.literal("call"), number: z.int(), name: z.string(), user: z.string() },
    input: z.object({ params: z.unknown(), query: z.unknown(), body: z.unknown() }).partial(),
  }),
  /** The caller of that call has gone. */
  z.object({ type: z.literal("cancel"), number: z.int() }),
  z.object({ type: z.literal("folder"), cwd: z.string(), state: FolderState }),
  /** Read the status of these folders; without `cwds` that of all folders where it is older than GIT_CACHE_MS. */
  z.object({ type: z.literal("check"), cwds: z.array(z.string()).optional() }),
  /** The answer to "store". */
  z.object({ type: z.literal("stored"), number: z.int(), error: z.string().optional() }),
]);
export type ToWorker = z.infer<typeof ToWorker>;

const Fields = z.record(z.string(), z.unknown());
/** Session records go to every user who may list them. */
const MAX_STATUS_LENGTH = 16_384;
const Status = GitStatus.refine((status) => JSON.stringify(status).length <= MAX_STATUS_LENGTH, "too long");

/** From the worker. */
export const FromWorker = z.discriminatedUnion("type", [
  /** The answer to a call: JSON as text. */
  z.object({ type: z.literal("answer"), number: z.int(), body: z.string() }),
  z.object({
    ...{ type: z.literal("failure"), number: z.int() },
    error: z.object({ error: z.string(), code: z.string(), details: Fields }),
  }),
  /** The status of a folder is known or has changed; absent outside a repository. */
  z.object({ type: z.literal("status"), cwd: z.string(), status: Status.optional() }),
  /** A notification of follow mode. */
  z.object({ type: z.literal("notice"), notification: GitNotification, user: z.string() }),
  /** All followed repositories. */
  z.object({
    ...{ type: z.literal("store"), number: z.int() },
    entries: z.array(FollowEntry).max(MAX_FOLLOWED_REPOSITORIES),
  }),
  z.object({
    type: z.literal("log"),
    level: z.enum(["info", "warn", "error"]),
    fields: Fields,
    message: z.string(),
  }),
]);
export type FromWorker = z.infer<typeof FromWorker>;

/** The worker's answer to `gitEvent`; the host adds the sessions. */
export const RepositoryEvent = GitEventReply.shape.notification.pick({
  ...{ repoPath: true, branch: true, followMode: true },
});
export type RepositoryEvent = z.infer<typeof RepositoryEvent>;
