// The calls between a session host and a git worker. The worker is a user's process: the host trusts no message of it.
import { z } from "zod";
import { event, method } from "../../lib/async/rpc.ts";
import { FileName, FilePath, SavedFile } from "../../protocol/schemas/file.ts";
import { GitEventReply, GitNotification } from "../../protocol/schemas/follow.ts";
import { GitStatus } from "../../protocol/schemas/session.ts";
import { FollowEntry } from "../follow/list.ts";
import { MAX_FOLLOWED_REPOSITORIES } from "../git-limits.ts";
import { HookTarget } from "../hooks/hook-script.ts";

const Setup = z.object({ target: HookTarget.optional(), entries: z.array(FollowEntry) });
export type Setup = z.infer<typeof Setup>;

/** `user`: the name under which follow mode notes whose repository it is. */
const RepositoryCall = z.object({
  ...{ name: z.string(), user: z.string() },
  input: z.object({ params: z.unknown(), query: z.unknown(), body: z.unknown() }).partial(),
});
export type RepositoryCall = z.infer<typeof RepositoryCall>;

/** The sessions in a folder: programs run, all programs have ended, there are no sessions any more. */
const FolderState = z.enum(["live", "ended", "left"]);
export type FolderState = z.infer<typeof FolderState>;

/** Where a session is: the current directory of the first process that is readable, else `workingDir`. */
const Place = z.object({ pids: z.array(z.int()), workingDir: z.string() });
/** Names the bytes of one file among the calls of both sides. */
const Transfer = z.object({ transfer: z.int() });
const FileToSave = Transfer.extend({ place: Place, name: FileName });
export type FileToSave = z.infer<typeof FileToSave>;
const FileToSend = Transfer.extend({ place: Place, path: FilePath });
export type FileToSend = z.infer<typeof FileToSend>;

export const WORKER = {
  begin: event("begin", Setup),
  /** An endpoint with its input. The answer is JSON as text. */
  call: method("call", RepositoryCall, z.string()),
  saveFile: method("saveFile", FileToSave, SavedFile),
  sendFile: method("sendFile", FileToSend, z.undefined()),
  folder: event("folder", z.object({ cwd: z.string(), state: FolderState })),
  /** Read the status of these folders; without `cwds` that of all folders where it is older than GIT_CACHE_MS. */
  check: event("check", z.object({ cwds: z.array(z.string()).optional() })),
};

/** The status is part of the session record, which is sent to every user with access to the session. */
const MAX_STATUS_LENGTH = 16_384;
const Status = GitStatus.refine((status) => JSON.stringify(status).length <= MAX_STATUS_LENGTH, "too long");

/** More than five paths of files. The host keeps 200 notifications of a user for an hour. */
const MAX_NOTICE_LENGTH = 32_768;
const Notification = GitNotification.refine(
  (notice) => JSON.stringify(notice).length <= MAX_NOTICE_LENGTH,
  "too long",
);

const LogLine = z.object({
  level: z.enum(["info", "warn"]),
  fields: z.record(z.string(), z.unknown()),
  message: z.string(),
});
export type LogLine = z.infer<typeof LogLine>;

export const HOST = {
  /** The status of a folder is known or has changed; absent outside a repository. */
  status: event("status", z.object({ cwd: z.string(), status: Status.optional() })),
  notice: event("notice", z.object({ notification: Notification, user: z.string() })),
  store: method("store", z.array(FollowEntry).max(MAX_FOLLOWED_REPOSITORIES), z.undefined()),
  log: event("log", LogLine),
  /** The next bytes of a file to save, in base64; undefined at its end. */
  read: method("read", Transfer, z.string().optional()),
  opened: event("opened", Transfer.extend({ name: z.string().max(255), size: z.int().min(0) })),
  /** The next bytes of that file, in base64. Answered when there is room for more. */
  write: method("write", Transfer.extend({ bytes: z.string() }), z.undefined()),
};

/** The worker's answer to `gitEvent`; the host adds the sessions. */
export const RepositoryEvent = GitEventReply.shape.notification.pick({
  ...{ repoPath: true, branch: true, followMode: true },
});
export type RepositoryEvent = z.infer<typeof RepositoryEvent>;
