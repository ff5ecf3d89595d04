import { z } from "zod";
import {
  DEFAULT_COLS,
  DEFAULT_ROWS,
  MAX_COMMAND_WORDS,
  MAX_RECORDED_COMMAND_LENGTH,
  MAX_SESSION_ID_LENGTH,
  MAX_TERMINAL_SIZE,
  MIN_TERMINAL_SIZE,
} from "../limits.ts";
import { Labels } from "./remote.ts";
import { ShareMode } from "./share.ts";

/** 1 to 64 of `A-Za-z0-9_-`: safe as a folder name, in a URL and in a frame. */
export const SESSION_ID = new RegExp(`^[A-Za-z0-9_-]{1,${MAX_SESSION_ID_LENGTH}}$`);
export const SessionId = z.string().regex(SESSION_ID, "1 to 64 letters, digits, hyphens or underscores");

/** An unguessable id: RFC 9562, version 4 or 7. */
export const RandomUuid = z.union([z.uuidv4(), z.uuidv7()]);

const Extent = z.int().min(MIN_TERMINAL_SIZE).max(MAX_TERMINAL_SIZE);
const Flag = z.literal(true).optional();
const Count = z.int().optional();
const ShortText = z.string().max(256);
const Text = withoutNul(4096);

function withoutNul(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .refine((text) => !text.includes("\0"), "must not contain a NUL character");
}

export const TerminalSize = z.object({ cols: Extent, rows: Extent });
export type TerminalSize = z.infer<typeof TerminalSize>;

/** As in recordings and events: `80x24`. */
export function sizeText({ cols, rows }: TerminalSize): string {
  return `${cols}x${rows}`;
}

/** The inverse of `sizeText`. `undefined` if the text is no size of a terminal. */
export function parseSize(text: string | undefined): TerminalSize | undefined {
  const [cols, rows] = (text ?? "").split("x").map(Number);
  return TerminalSize.safeParse({ cols, rows }).data;
}

const Env = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "letters, digits and underscores, not starting with a digit"),
  withoutNul(131_072),
);

/** The body of POST /api/sessions (contract 2.1). Unknown members are ignored: VibeTunnel's clients send some. */
export const CreateSession = z.object({
  id: SessionId.refine((id) => id !== "activity", "activity is reserved")
    .optional()
    .describe("chosen by the client: a UUID of version 4 or 7; for admins any id"),
  command: z
    .union([
      Text.min(1),
      z
        .array(Text)
        .min(1)
        .max(MAX_COMMAND_WORDS)
        .refine((words) => words[0] !== "", "the program is empty"),
    ])
    .optional(),
  args: z.array(Text).max(MAX_COMMAND_WORDS).optional(),
  cwd: Text.optional(),
  workingDir: Text.optional(),
  env: Env.optional(),
  name: ShortText.optional(),
  cols: Extent.default(DEFAULT_COLS),
  rows: Extent.default(DEFAULT_ROWS),
  remoteId: ShortText.optional(),
  labels: Labels.optional().describe("at an HQ, in place of remoteId: any remote that has these labels"),
  owner: ShortText.optional().describe(
    "the user of the session, from a server that asks for one of its users",
  ),
  account: ShortText.optional().describe("the account of the program, from a server to its session host"),
  transient: z
    .boolean()
    .optional()
    .describe("remove the session with its recording as soon as its program has ended"),
});
export type CreateSession = z.infer<typeof CreateSession>;

/** Whether the request is in VibeTunnel's spelling, with `workingDir` (contract 10.8). */
export function isVibeTunnelSpelling(body: Readonly<Record<string, unknown>>): boolean {
  return body.workingDir !== undefined && body.cwd === undefined;
}

/** The same before defaults. */
export type CreateSessionBody = z.input<typeof CreateSession>;

export const SessionStatus = z.enum(["starting", "running", "exited"]);

/** Why a session ended: its program exited, was killed by a signal, or lost its session host. */
export const ExitReason = z.enum(["exit", "signal", "host_lost"]);
export type ExitReason = z.infer<typeof ExitReason>;

/** The repository that a session was started in (contract 2.2); all absent outside a repository. */
export const GitStatus = z.object({
  gitRepoPath: z.string().optional().describe("the top of the worktree that contains cwd"),
  gitBranch: z.string().optional().describe("empty if HEAD is detached"),
  gitAheadCount: Count.describe("commits that the upstream does not have; absent without an upstream"),
  gitBehindCount: Count.describe("commits of the upstream that are missing here"),
  gitHasChanges: z.boolean().optional().describe("whether tracked files differ from the commit"),
  gitModifiedCount: Count.describe("files with unstaged changes"),
  gitAddedCount: Count.describe("untracked files and folders"),
  gitStagedCount: Count.describe("files with staged changes"),
  gitDeletedCount: Count.describe("deleted files"),
  gitIsWorktree: z.boolean().optional().describe("whether it is a linked worktree"),
  gitMainRepoPath: z.string().optional().describe("the top of the main worktree"),
});
export type GitStatus = z.infer<typeof GitStatus>;

/** A session as clients see it (specification 2.3, contract 2.2). Times are ISO 8601, sizes in cells, bytes in bytes. */
export const SessionRecord = z.object({
  id: z.string(),
  key: z.string().optional().describe("never reused, unlike the id"),
  sessionId: z.string().describe("the same as id, for VibeTunnel's clients"),
  name: z.string(),
  created: z.string(),
  startedAt: z.string().describe("the same as created, for VibeTunnel's clients"),
  status: SessionStatus,
  pid: z.int().optional(),
  // Without a limit each wrong element makes an issue, and a remote may send millions.
  command: z
    .array(z.string())
    .max(2 * MAX_COMMAND_WORDS)
    .describe(`over ${MAX_RECORDED_COMMAND_LENGTH} characters it is cut, with an ellipsis`),
  cwd: z.string(),
  workingDir: z.string().describe("the same as cwd, for VibeTunnel's clients"),
  cwdFallback: Flag.describe(
    "the requested workingDir cannot be entered: the program started in the home directory",
  ),
  cols: z.int(),
  rows: z.int(),
  initialCols: z.int().optional().describe("the size at the start of the session"),
  initialRows: z.int().optional(),
  lastModified: z.string(),
  exitCode: z.int().optional(),
  exitSignal: z.string().optional(),
  exitReason: ExitReason.optional(),
  exitedAt: z.string().optional(),
  endRequested: Flag.describe("a user ended the session"),
  outputBytes: z.int().describe("bytes of output since the start of the session"),
  viewers: z.int().describe("current subscriptions to this session"),
  recording: z
    .enum(["waiting", "stopped"])
    .optional()
    .describe("waiting: for a disk that cannot be written; stopped: at the limit; absent: recorded"),
  lostBytes: z.int().optional().describe("bytes of output that were not recorded because of the disk"),
  title: z.string().optional().describe("the last title that the program set"),
  ...GitStatus.shape,
  owner: z.string().optional().describe("the user of the session; absent: the server's own"),
  access: ShareMode.optional().describe("for guests of a share link: its mode"),
  mayResize: Flag.describe("for guests: the share link lets them resize the terminal"),
  source: z.string().optional().describe("on an HQ: the name of the remote, or local"),
  remoteId: z.string().optional(),
  remoteName: z.string().optional(),
  remoteUrl: z.string().optional(),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

/** POST .../input: exactly one of the three (contract 2.4). */
export const Input = z
  .object({ text: z.string().optional(), key: z.string().optional(), data: z.base64().optional() })
  .refine(
    (input) => [input.text, input.key, input.data].filter((value) => value !== undefined).length === 1,
    "exactly one of text, key and data",
  );
export type Input = z.infer<typeof Input>;

/** Signals for programs in a terminal. */
export const SignalName = z.enum([
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGKILL",
  "SIGUSR1",
  "SIGUSR2",
  "SIGTERM",
  "SIGCONT",
  "SIGSTOP",
  "SIGTSTP",
  "SIGWINCH",
]);
export type SignalName = z.infer<typeof SignalName>;

/** The reply of DELETE /api/sessions/:id (contract 2.3). */
export const Removal = z.object({
  success: z.literal(true),
  status: z.enum(["exited", "removed"]),
  exitCode: z.int().optional(),
});
export type Removal = z.infer<typeof Removal>;
