// Of git, follow mode and live git status.
/** What git may take to answer a question, and to change a repository. */
export const GIT_TIMEOUT_MS = 10_000;
export const GIT_WRITE_TIMEOUT_MS = 60_000;
/** Between SIGTERM, on which git removes what it has half made, and SIGKILL. */
export const GIT_STOP_GRACE_MS = 3_000;
/** git processes of a server at a time. */
export const MAX_GIT_PROCESSES = 8;
/** More that wait for their turn, and how long; one more is refused. */
export const MAX_WAITING_GIT_PROCESSES = 512;
export const GIT_TURN_TIMEOUT_MS = 20_000;
/** What one of them may say on each of its two streams. */
export const MAX_GIT_OUTPUT_BYTES = 16 * 1024 * 1024;
/** How old an answer about a repository may be (specification 8); sessions with output or viewers are checked as often. */
export const GIT_CACHE_MS = 5_000;
/** Follow mode: how long a git of somebody else's that is at work in a tree is waited for. */
export const FOLLOW_LOCK_WAIT_MS = 5_000;
/** Between the first sign of a change and a check: a git command changes several files. */
export const FOLLOW_SETTLE_MS = 40;
/** Two checks so long apart must see the same before anything is done: git is between two of its own steps otherwise. */
export const FOLLOW_SECOND_CHECK_MS = 25;
/** The same for a worktree or a repository that is not there: it may be on its way to another place. */
export const FOLLOW_GONE_CHECK_MS = 500;
/** A repository that does not come to rest is checked again later. */
export const MAX_FOLLOW_CHECKS = 200;
/** Rounds of what is done for one change; more is left to a later check. */
export const MAX_FOLLOW_ROUNDS = 10;
/** Before a check that failed, or found something in the way, is repeated: twice as long each time, up to the second. */
export const FOLLOW_RETRY_MS = 1_000;
export const MAX_FOLLOW_RETRY_MS = 60_000;
/** A repository that this server has never seen may be on a disk that is not there yet: so long it is looked for. */
export const MAX_FOLLOW_ABSENCE_MS = 86_400_000;
/** Repositories with follow mode: of one git worker, and of those the ones of one user. */
export const MAX_FOLLOWED_REPOSITORIES = 400;
export const MAX_FOLLOWED_OF_USER = 100;
/** Notifications that are kept for those who ask, and for how long; over that the oldest goes. */
export const MAX_GIT_NOTICES = 200;
export const GIT_NOTICE_LIFETIME_MS = 3_600_000;
/** Clients of which it is known what they were told; of more the one that asked longest ago is told again. */
export const MAX_GIT_NOTICE_READERS = 1_000;
/** Live git status: folders of sessions; sessions in more folders have none. */
export const MAX_STATUS_FOLDERS = 1_000;
/** Working trees that are read at a time, and how long one may wait for its turn. */
export const STATUS_READS_AT_ONCE = 2;
export const STATUS_TURN_TIMEOUT_MS = 120_000;
/** Between the first change of git's files and a reading. */
export const STATUS_SETTLE_MS = 100;
/** After a reading a pause of so many times as long: git gets at most a fifth of a core for one working tree. */
export const STATUS_PAUSE_FACTOR = 4;
/** Before a reading that failed is repeated: twice as long each time, up to the second. */
export const STATUS_RETRY_MS = 1_000;
export const MAX_STATUS_RETRY_MS = 3_600_000;
