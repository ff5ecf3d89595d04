// Of git, follow mode and live git status.
/** Timeouts of commands that read and that change a repository. */
export const GIT_TIMEOUT_MS = 10_000;
export const GIT_WRITE_TIMEOUT_MS = 60_000;
/** From SIGTERM, on which git cleans up, to SIGKILL. */
export const GIT_STOP_GRACE_MS = 3_000;
/** Concurrent git processes of one worker. */
export const MAX_GIT_PROCESSES = 8;
/** Commands that wait for a process, and for how long; further commands are refused. */
export const MAX_WAITING_GIT_PROCESSES = 512;
export const GIT_TURN_TIMEOUT_MS = 20_000;
/** Of each of the two output streams. */
export const MAX_GIT_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Maximum age of cached answers (specification 8), and the interval of status checks for active sessions. */
export const GIT_CACHE_MS = 5_000;
export const FOLLOW_LOCK_WAIT_MS = 5_000;
/** From the first change of a file to the check: a git command changes several files. */
export const FOLLOW_SETTLE_MS = 40;
/** Two checks so long apart must agree before follow mode acts: git may be between two steps of a command. */
export const FOLLOW_SECOND_CHECK_MS = 25;
/** The same for a missing worktree or repository: it may be being moved. */
export const FOLLOW_GONE_CHECK_MS = 500;
/** A repository that keeps changing is checked again later. */
export const MAX_FOLLOW_CHECKS = 200;
/** Rounds of actions for one change; the rest is left to a later check. */
export const MAX_FOLLOW_ROUNDS = 10;
/** Pause before a failed or blocked check is repeated; doubles each time up to the maximum. */
export const FOLLOW_RETRY_MS = 1_000;
export const MAX_FOLLOW_RETRY_MS = 60_000;
/** How long a repository may be missing that this process has never seen: its disk may not be mounted yet. */
export const MAX_FOLLOW_ABSENCE_MS = 86_400_000;
/** Followed repositories of one git worker, and of one user. */
export const MAX_FOLLOWED_REPOSITORIES = 400;
export const MAX_FOLLOWED_OF_USER = 100;
/** Stored notifications of one user, and their lifetime; over that the oldest is dropped. */
export const MAX_GIT_NOTICES_OF_USER = 200;
export const GIT_NOTICE_LIFETIME_MS = 3_600_000;
/** Clients of one user whose last notification is remembered, and users with clients or notifications. */
export const MAX_GIT_NOTICE_READERS_OF_USER = 1_000;
export const MAX_GIT_NOTICE_USERS = 1_000;
/** Folders with a live git status; sessions in further folders have none. */
export const MAX_STATUS_FOLDERS = 1_000;
/** Concurrent status reads, and how long one may wait for its turn. */
export const STATUS_READS_AT_ONCE = 2;
export const STATUS_TURN_TIMEOUT_MS = 120_000;
/** From the first change of git's files to the status read. */
export const STATUS_SETTLE_MS = 100;
/** Pause after a read, as a multiple of its duration: at most a fifth of a core for one working tree. */
export const STATUS_PAUSE_FACTOR = 4;
/** Pause before a failed read is repeated; doubles each time up to the maximum. */
export const STATUS_RETRY_MS = 1_000;
export const MAX_STATUS_RETRY_MS = 3_600_000;
