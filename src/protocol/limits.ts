/** Terminal sizes in character cells. */
export const MIN_TERMINAL_SIZE = 1;
export const MAX_TERMINAL_SIZE = 1000;
export const DEFAULT_COLS = 80;
export const DEFAULT_ROWS = 24;

/** Characters, all of `A-Za-z0-9_-`. */
export const MAX_SESSION_ID_LENGTH = 64;
export const MAX_SESSION_KEY_LENGTH = 256;
/** Words of a command, and arguments beside a command, in a request; a record has at most twice as many words. */
export const MAX_COMMAND_WORDS = 1024;
/** Of the command in a session's record, with a space after each word; over that it is cut. The program gets all. */
export const MAX_RECORDED_COMMAND_LENGTH = 4_096;
/** Session id field of a frame (contract 1.1). */
export const MAX_FRAME_SESSION_ID_BYTES = 256;
/** A longer WebSocket message closes the connection with 1009 (contract 1.5). */
export const MAX_MESSAGE_BYTES = 1024 * 1024;
/** A longer JSON body is refused with 413 `body_too_large` (contract 4.1). */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Limit for clients without a login. */
export const MAX_OPEN_BODY_BYTES = 16 * 1024;
/** Values in a request body: each is checked, and may be a line of the error. A command takes half of them at most. */
export const MAX_BODY_VALUES = 4_096;
/** Bad frames in a row before the connection is closed with 1002 (contract 1.5). */
export const MAX_BAD_FRAMES = 16;
/** Subscriptions per connection. */
export const MAX_SUBSCRIPTIONS = 2_000;

/** History for a client without offsets (contract 1.7). */
export const MAX_REPLAY_BYTES = 1024 * 1024;
/** Output is batched up to this size and for at most OUTPUT_BATCH_MS. */
export const MAX_OUTPUT_FRAME_BYTES = 256 * 1024;
export const OUTPUT_BATCH_MS = 4;
/** Output per OUTPUT_BATCH_MS that is sent at once; the rest is batched. */
export const PROMPT_OUTPUT_BYTES = 4 * 1024;

/** Default of `--max-recording-size`, per session (contract 3). */
export const DEFAULT_MAX_RECORDING_BYTES = 256 * 1024 * 1024;

/** Default of `--max-upload`. */
export const DEFAULT_MAX_UPLOAD_BYTES = 100 * 1024 * 1024;
/** Files of one system user that are sent or fetched at once; further ones are refused. */
export const MAX_TRANSFERS = 8;
/** An upload without progress for this long is aborted. */
export const UPLOAD_STALL_MS = 30_000;

export const PING_INTERVAL_MS = 25_000;
/** Default interval of snapshots during output (contract 1.3). */
export const SNAPSHOT_INTERVAL_MS = 50;

export const SESSIONS_PER_MINUTE = 10;
export const API_CALLS_PER_MINUTE = 100;
/** Per address and per user, always on (contract 4.2). */
export const FAILED_LOGINS_PER_MINUTE = 10;
/** Of one user at an address from which that user has not logged in lately. */
export const FAILED_LOGINS_PER_HOUR = 20;
export const TOKEN_LIFETIME_S = 86_400;
/** Remotes renew their credential after half of this. */
export const REMOTE_CREDENTIAL_LIFETIME_S = 1_200;
export const MAX_JOIN_TOKEN_LIFETIME_S = 365 * 86_400;
/** Long enough that no token can be guessed, however it was chosen. */
export const MIN_JOIN_TOKEN_BYTES = 32;
/** Valid join tokens of one HQ; further ones are refused. */
export const MAX_JOIN_TOKENS = 1_000;
/** Keys of remotes of one HQ; further ones are refused. */
export const MAX_REMOTE_KEYS = 10_000;
/** Between a joining remote and its HQ. */
export const MAX_JOIN_CLOCK_SKEW_MS = 300_000;
export const WS_TICKET_LIFETIME_MS = 30_000;

/** Defaults of `--grace` and `--drain-delay`: Kubernetes allows a pod 30 s, including preStop. */
export const DEFAULT_GRACE_MS = 20_000;
export const DEFAULT_DRAIN_DELAY_MS = 0;
/** GOAWAY: delay before clients leave, and the interval over which they are spread, per client and at most. */
export const GOAWAY_AFTER_MS = 100;
export const GOAWAY_JITTER_PER_CLIENT_MS = 2;
export const MAX_GOAWAY_JITTER_MS = 5_000;
/** Clients that have not left after this are disconnected. */
export const GOAWAY_PATIENCE_MS = 1_000;

/** Between SIGTERM and SIGKILL when a session is ended (contract 2.3). */
export const KILL_GRACE_MS = 3_000;
/** Between SIGHUP and SIGTERM when a session is ended, for programs that save their state at a hangup. */
export const HANGUP_GRACE_MS = 250;
/** Time for a process to end after SIGKILL. */
export const SIGKILL_WAIT_MS = 2_000;
/** Time for an ended session to report its exit, whose output may wait for a slow disk. Ending it takes less than REQUEST_TIMEOUT_MS. */
export const EXIT_WAIT_MS = 10_000;

export const DEFAULT_PORT = 4020;

/** Keep-alive of the /ws client: the link is lost after this many unanswered PINGs. */
export const CLIENT_PING_INTERVAL_MS = 5_000;
export const CLIENT_MAX_MISSED_PONGS = 2;
/** The page notices a lost link sooner, because a user types there. */
export const PAGE_PING_INTERVAL_MS = 1_600;
/** Time for an answer on a link after sleep or a network change, or before the link is left. */
export const CLIENT_PROBE_TIMEOUT_MS = 5_000;
/** Time without an answer after which a second attempt to connect begins beside the first; twice as long until the third. */
export const CONNECT_HEDGE_MS = 2_000;
export const CONNECT_TIMEOUT_MS = 10_000;
/** Delay of the first reconnect after a stable link; further ones wait RETRY_FIRST_MS and longer. */
export const RECONNECT_QUICK_MS = 50;
/** Age from which a link is stable. */
export const STABLE_LINK_MS = 1_000;
/** After GOAWAY: the longest delay between attempts, and the time for which a missing link is expected. */
export const RECONNECT_PLANNED_MS = 200;
export const PLANNED_RESTART_MS = 2_000;
/** The same for a longer restart, such as the replacement of a pod. */
export const AWAITED_RESTART_MS = 60_000;
export const RECONNECT_AWAITED_MS = 2_000;
/** Delay before a temporarily refused SUBSCRIBE is repeated. */
export const RESUBSCRIBE_DELAY_MS = 1_000;
/** Unsent bytes in a client's link; further input is refused. */
export const MAX_UNSENT_BYTES = 16 * 1024 * 1024;
/** Unacknowledged commands of a client; further ones are refused. */
export const MAX_PENDING_COMMANDS = 10_000;

/** HS256 signs with 256 bits. */
export const MIN_TOKEN_SECRET_BYTES = 32;
/** Longer access tokens and tickets are refused unread. */
export const MAX_TOKEN_LENGTH = 4_096;
export const MIN_SHARE_LIFETIME_S = 60;
export const DEFAULT_SHARE_LIFETIME_S = 86_400;
export const MAX_SHARE_LIFETIME_S = 30 * 86_400;
/** Minimum interval between two lists of a session's viewers for a client. */
export const VIEWERS_INTERVAL_MS = 1_000;
/** Viewers of a session of whom each of them is told: all of all would be quadratic. */
export const MAX_TOLD_VIEWERS = 100;
/** A viewer counts as typing for this time after its last key. */
export const TYPING_SHOWN_MS = 3_000;

/** Valid share links of a server, and of each user; further ones are refused. */
export const MAX_SHARES = 1_000;
export const MAX_SHARES_OF_USER = 200;
/** Unused tickets; the oldest are dropped. */
export const MAX_WS_TICKETS = 10_000;
export const LOGIN_LINK_LIFETIME_MS = 600_000;
/** Unused login links; the oldest are dropped. */
export const MAX_LOGIN_LINKS = 16;
/** Time for a second factor. */
export const SECOND_FACTOR_LIFETIME_MS = 300_000;
/** A page of the audit log: entries, their total size, and bytes of the log that are searched for them. */
export const MAX_AUDIT_PAGE = 1_000;
export const MAX_AUDIT_PAGE_BYTES = 1024 * 1024;
export const MAX_AUDIT_SCAN_BYTES = 8 * 1024 * 1024;
/** Lines of the audit log that HQs with a shared registry keep in it: about 500 bytes each. */
export const MAX_SHARED_AUDIT_LINES = 50_000;
/** Files in the list of a worktree's losses; the rest is only counted. */
export const MAX_LISTED_LOSSES = 200;
/** Validity of an administrator's code for a passkey. */
export const ENROLMENT_CODE_LIFETIME_S = 86_400;
/** Unused codes; the oldest are dropped. */
export const MAX_ENROLMENT_CODES = 1_000;
/** Logins that wait for a second factor; the oldest are dropped. */
export const MAX_SECOND_FACTORS = 1_000;
/** Per user. */
export const MAX_PASSKEYS = 20;
/** Valid logins; the oldest are ended. */
export const MAX_LOGINS_PER_USER = 500;
export const MAX_LOGINS = 10_000;
/** Valid API tokens; further ones are refused. */
export const MAX_API_TOKENS_PER_USER = 100;
export const MAX_API_TOKENS = 10_000;
export const MAX_API_TOKEN_LIFETIME_S = 365 * 86_400;
/** The last use of a login is stored at most this often. */
export const LOGIN_USE_INTERVAL_MS = 60_000;
/** A longer User-Agent is cut. */
export const MAX_CLIENT_LENGTH = 256;
/** Ended logins and share links, remembered until they would have expired; the oldest are dropped. */
export const MAX_ENDED_RECORDS = 50_000;
/** Window of the count of failed logins. */
export const LOGIN_WINDOW_MS = 60_000;
/** Longest additional delay of an address with repeated failures, and how long failures are remembered for it. */
export const MAX_LOGIN_PENALTY_MS = 900_000;
export const LOGIN_PENALTY_MEMORY_MS = 3_600_000;
/** Failed logins that HQs share through a registry: for how long, and how many; the oldest are dropped. */
export const FAILED_LOGIN_MEMORY_MS = 3_600_000;
export const MAX_SHARED_FAILURES = 4_096;
/** Addresses, and users, with counted failures. */
export const MAX_COUNTED_LOGINS = 10_000;
/** For this time after a login from an address, failures elsewhere do not block the user there. */
export const PROVEN_LOGIN_MS = 30 * 86_400_000;
/** Specification 5.3. */
export const SSH_CHALLENGE_LIFETIME_MS = 300_000;
/** Unanswered challenges; the oldest are dropped. */
export const MAX_SSH_CHALLENGES = 10_000;
/** Refused logins by key are answered after a multiple of this: reading a user's keys takes a process of its own. */
export const KEY_REFUSAL_MS = 500;
/** Time for a check of a key, and the part of it for reading the files: a home may be on a disk that hangs. */
export const KEY_LOOKUP_TIMEOUT_MS = 10_000;
export const KEY_READ_TIMEOUT_MS = 8_000;
/** About 10,000 keys; a larger authorized_keys is not read. */
export const MAX_AUTHORIZED_KEYS_BYTES = 1024 * 1024;

/** A session's output in memory; a viewer further behind reads the journal or gets RESYNC. */
export const FEED_WINDOW_BYTES = 4 * 1024 * 1024;
/** Output that is kept although all viewers have it. */
export const FEED_KEEP_BYTES = 64 * 1024;
/** Unsent bytes of a viewer above which no output is queued for it. */
export const OUTBOX_BYTES = 512 * 1024;
/** Unsent bytes of answers and events above which a viewer's requests are not read. */
export const OUTBOX_PAUSE_BYTES = 1024 * 1024;
/** The same, above which the viewer is disconnected. */
export const MAX_UNREAD_ANSWER_BYTES = 2 * 1024 * 1024;
/** Unanswered requests above which a viewer is not read. */
export const MAX_OPEN_REQUESTS = 256;
/** Delay before a failed read of a session's history is repeated. */
export const REREAD_DELAY_MS = 500;
/** A viewer behind the window of a feed that reads nothing for this long gets RESYNC. */
export const STALLED_AFTER_MS = 500;
/** A viewer further behind gets RESYNC even if it reads, unless it asked for that offset. */
export const MAX_BEHIND_BYTES = 64 * 1024 * 1024;

/** Backoff of retries, doubled from the first to the longest pause (contract 6.2). */
export const RETRY_FIRST_MS = 500;
export const RETRY_MAX_MS = 15_000;

/** Time for an answer, or for the head of a streamed one. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** The longest JSON or text answer that a client accepts. */
export const MAX_REPLY_BYTES = 64 * 1024 * 1024;
/** The longest health. An HQ asks any address that registers: parsing a long answer would keep it busy. */
export const MAX_HEALTH_BYTES = 64 * 1024;

/** The longest body of another server's error that is read. */
export const MAX_ERROR_BODY_BYTES = 256 * 1024;
/** The rest of the text of another server's error, which goes into logs and answers, is cut. */
export const MAX_ERROR_TEXT_LENGTH = 16 * 1024;
/** A message of another server: a RESYNC with scrollback exceeds MAX_MESSAGE_BYTES. */
export const MAX_UPLINK_MESSAGE_BYTES = 64 * 1024 * 1024;
/** Time to determine one metric. */
export const METRICS_TIMEOUT_MS = 2_000;

/** Time for a session host to start, which a busy machine delays. */
export const HOST_START_TIMEOUT_MS = 60_000;
/** The server starts without an external session host after this. */
export const EXTERNAL_HOST_TIMEOUT_MS = 30_000;

/** Scrollback of a RESYNC, a text and a terminal of the session host. */
export const SCREEN_SCROLLBACK_LINES = 1_000;
/** Terminals kept for the next request; the least recently used are dropped. */
export const MAX_SCREEN_TERMINALS = 32;
/** Cells of all of them, with scrollback: about 200 MB. */
export const MAX_SCREEN_CELLS = 16 * 1024 * 1024;
/** Unused terminals are dropped after this. */
export const SCREEN_IDLE_MS = 60_000;
/** Time for a screen; 30 MiB of output are parsed per second. */
export const SCREEN_TIMEOUT_MS = 30_000;
export const SCREEN_CLOSE_TIMEOUT_MS = 2_000;
/** Delay of the PING that confirms a command and those sent meanwhile. */
export const COMMAND_PING_DELAY_MS = 1;

/** HQ (specification 8, contract 6.2, 6.3). */
export const HEALTH_CHECK_INTERVAL_MS = 15_000;
export const HEALTH_CHECK_TIMEOUT_MS = 5_000;
export const REGISTRATION_REFRESH_MS = 60_000;
/** Interval of a remote's checks of its HQ, which notice a restart, and of the clock, which notice sleep. */
export const HQ_CHECK_MS = 5_000;
export const CLOCK_CHECK_MS = 1_000;
/** Time for a remote's url to answer at registration, so that an HQ is not registered with itself. */
export const LOOP_CHECK_TIMEOUT_MS = 1_000;
/** A larger jump of the clock between two checks means that the machine slept and the HQ has removed it. */
export const CLOCK_JUMP_MS = 5_000;
/** Time for a remote to say whether it has a session whose owner is unknown. */
export const SESSION_SEARCH_TIMEOUT_MS = 2_000;
/**
 * How long a remote that was removed because it did not answer is `down`: its sessions are unreachable rather than missing.
 * Longer than REGISTRATION_REFRESH_MS. And how many such remotes are remembered, the latest.
 */
export const DOWN_REMOTE_MEMORY_MS = 90_000;
export const MAX_DOWN_REMOTES = 1_000;
/** Limit for remembered sessions of remotes that left within that time; the latest are kept. */
export const MAX_DEPARTED_SESSIONS = 10_000;
/** How long connections to a remote that dials wait for its tunnel; shorter than a health check. */
export const TUNNEL_WAIT_MS = 1_500;
/** Interval and time limit of the health checks of such a remote. */
export const RECOVERY_PROBE_MS = 1_000;
export const RECOVERY_PROBE_TIMEOUT_MS = 2_000;
/** A health check that exceeds its limit by this much shows that this process itself stood still. */
export const HEALTH_CHECK_LATENESS_MS = 1_000;
/** Time for a registration, including the HQ's health check of the remote that has the name. */
export const REGISTRATION_TIMEOUT_MS = 15_000;

/** The registry that several HQs share (contract 6.8): to connect to it, and one command of it. */
export const REGISTRY_CONNECT_TIMEOUT_MS = 5_000;
export const REGISTRY_TIMEOUT_MS = 2_000;
/** Time for another HQ of the registry to receive a call. */
export const REPLICA_CALL_TIMEOUT_MS = 5_000;
/** Which Redis is the master. */
export const SENTINEL_TIMEOUT_MS = 1_000;
/** How long a read waits for changes; without an answer after REGISTRY_TIMEOUT_MS more the connection is lost. */
export const REGISTRY_WAIT_MS = 4_000;
/** The longest pause between two attempts to connect. */
export const REGISTRY_RETRY_MAX_MS = 2_000;
/** Limit for stored changes, the oldest are dropped; an HQ that missed some reads everything. */
export const MAX_REGISTRY_CHANGES = 4_096;
/** How long an HQ may remove remotes after a health check; longer than the interval of the checks. */
export const PROBE_LEASE_MS = 20_000;
/** For how long an HQ without an answer of any remote leaves the lease to the others: one health check of each. */
export const PROBE_LEASE_PASSED_MS = 30_000;
/** An HQ without a health check for this long is gone. */
export const REPLICA_LIFETIME_MS = 40_000;

/** Time for the system to look up a user and its limits. */
export const SYSTEM_LOOKUP_TIMEOUT_MS = 10_000;
/** Concurrent checks of system passwords: each may take 16 MB, and a process for seconds. */
export const SYSTEM_PASSWORDS_AT_ONCE = 8;
/** Waiting checks; further ones are refused. */
export const MAX_WAITING_SYSTEM_PASSWORDS = 64;
/** Time for PAM to ask or answer. */
export const PAM_STEP_TIMEOUT_MS = 30_000;
/** The same including the start of a worker. */
export const SYSTEM_PASSWORD_TIMEOUT_MS = 35_000;
/** The same including slow refusals, for answers that another HQ passes on. */
export const LOGIN_ANSWER_TIMEOUT_MS = 50_000;
/** Time for the user to answer a question of the system. */
export const LOGIN_QUESTION_LIFETIME_MS = 60_000;
/** Per login. */
export const MAX_LOGIN_QUESTIONS = 8;
/** Logins that wait for an answer; the oldest of the address with the most are ended. */
export const MAX_PENDING_LOGINS = 64;
/** The same per address; the oldest are ended. */
export const MAX_PENDING_LOGINS_PER_ADDRESS = 16;
/** Workers are ended this long after their last call: longer than a call takes, and than a login waits for its user. */
export const ACCOUNT_WORKER_IDLE_MS = 90_000;
/** Maximum age of an account's status at a request, and the interval of checks for open sockets and streams. */
export const ACCOUNT_MEMORY_MS = 15_000;
/** Accounts with a remembered status. */
export const MAX_ACCOUNTS = 1_000;
/** Concurrent and waiting lookups of accounts. */
export const ACCOUNT_LOOKUPS_AT_ONCE = 8;
export const MAX_WAITING_ACCOUNT_LOOKUPS = 1_000;
/** Two lookups of SYSTEM_LOOKUP_TIMEOUT_MS each, and the start of a worker. */
export const ACCOUNT_LOOKUP_TIMEOUT_MS = 25_000;
/** A wrong system password is answered after a multiple of this: PAM's own delay is 1 to 3 s. */
export const WRONG_PASSWORD_MS = 4_000;
/** For this time after a refusal that took longer than its step, all others are delayed as much. */
export const SLOW_REFUSAL_MEMORY_MS = 3_600_000;

/** The reverse proxy of --enable-proxy-serve: the longest lifetime of a login, whatever its provider says. */
export const PROXY_LOGIN_LIFETIME_MS = 43_200_000;
/** Time for the user to log in at the provider. */
export const PROXY_LOGIN_TIMEOUT_MS = 600_000;
/** Valid logins, of all users and of one; the oldest are ended. */
export const MAX_PROXY_LOGINS = 10_000;
export const MAX_PROXY_LOGINS_OF_USER = 32;
/** Unfinished logins of one browser; each adds up to a kilobyte to every request. */
export const MAX_PENDING_PROXY_LOGINS = 4;
export const PROVIDER_TIMEOUT_MS = 10_000;
/** Tolerated difference between the provider's clock and ours. */
export const PROVIDER_CLOCK_TOLERANCE_S = 30;
/** A login in use is confirmed by its provider at least this often. */
export const PROVIDER_CONFIRM_MS = 300_000;
/** Lifetime of a provider's answer that does not state one. */
export const PROVIDER_ANSWER_LIFETIME_MS = 3_600_000;

/** Changes of sessions that are kept while their source is listed. */
export const MAX_PENDING_CHANGES = 10_000;
/** The records of a remote's sessions as JSON, in UTF-16 units: some 40,000 sessions. An HQ leaves out those beyond. */
export const MAX_REMOTE_RECORDS_LENGTH = 32 * 1024 * 1024;
/** One record: that of a session which was created here has at most MAX_BODY_BYTES, and its paths. An HQ leaves out longer ones. */
export const MAX_RECORD_LENGTH = 1.25 * 1024 * 1024;
/** An EVENT of another server, longer ones are ignored: each client of an HQ gets a copy. Such a record in UTF-8 fits. */
export const MAX_EVENT_BYTES = 4 * 1024 * 1024;
/** The records of one list of a remote that an HQ reads, readable or not. */
export const MAX_REMOTE_RECORDS = 100_000;

/** Clients are notified of foreground commands that ran at least this long. */
export const COMMAND_FINISHED_MIN_MS = 3_000;

/** A program waits for input after this long without output, if the output came at least so long after the last input. */
export const INPUT_WAIT_QUIET_MS = 5_000;
export const INPUT_WAIT_MIN_WORK_MS = 3_000;

/** Minimum interval between two notifications, and two bells, of a session's program; others are dropped. */
export const PROGRAM_NOTIFICATION_INTERVAL_MS = 1_000;
export const BELL_INTERVAL_MS = 1_000;
/** Minimum interval between two new titles of a session; the last one is always told. */
export const TITLE_INTERVAL_MS = 100;
