/** A size of the terminal, in character cells. */
export const MIN_TERMINAL_SIZE = 1;
export const MAX_TERMINAL_SIZE = 1000;
export const DEFAULT_COLS = 80;
export const DEFAULT_ROWS = 24;

/** A session id is 1 to this many of `A-Za-z0-9_-`; longer ones are refused at every entrance. */
export const MAX_SESSION_ID_LENGTH = 64;
export const MAX_SESSION_KEY_LENGTH = 256;
/** Session id field of a frame, in bytes (contract 1.1). */
export const MAX_FRAME_SESSION_ID_BYTES = 256;
/** One WebSocket message; a longer one closes the connection with 1009 (contract 1.5). */
export const MAX_MESSAGE_BYTES = 1024 * 1024;
/** One JSON body; a longer one is 413 `body_too_large` (contract 4.1). */
export const MAX_BODY_BYTES = 1024 * 1024;
/** The same from anybody who is not logged in: the longest proof of a login is much shorter. */
export const MAX_OPEN_BODY_BYTES = 16 * 1024;
/** Bad frames in a row before the connection is closed with 1002 (contract 1.5). */
export const MAX_BAD_FRAMES = 16;
/** Subscriptions of one connection; one more is refused with `too_many_subscriptions`. */
export const MAX_SUBSCRIPTIONS = 2_000;

/** What a client without offsets gets of the past at most (contract 1.7). */
export const MAX_REPLAY_BYTES = 1024 * 1024;
/** The largest output frame: what a flood is batched into. */
export const MAX_OUTPUT_FRAME_BYTES = 256 * 1024;
/** A flood is batched for at most this long. */
export const OUTPUT_BATCH_MS = 4;
/** Output of a window of OUTPUT_BATCH_MS that leaves at once; what exceeds it is batched. */
export const PROMPT_OUTPUT_BYTES = 4 * 1024;

/** The default of `--max-recording-size`, in bytes for each session (contract 3). */
export const DEFAULT_MAX_RECORDING_BYTES = 256 * 1024 * 1024;

export const PING_INTERVAL_MS = 25_000;
/** The server's default between two snapshots while output goes on (contract 1.3). */
export const SNAPSHOT_INTERVAL_MS = 50;

export const SESSIONS_PER_MINUTE = 10;
export const API_CALLS_PER_MINUTE = 100;
/** For each address and each user, always on (contract 4.2). */
export const FAILED_LOGINS_PER_MINUTE = 10;
/** Of one user at one address where that user has not logged in lately. */
export const FAILED_LOGINS_PER_HOUR = 20;
export const TOKEN_LIFETIME_S = 86_400;
/** Of the credential that a remote gets for its key, and renews when half of that is over. */
export const REMOTE_CREDENTIAL_LIFETIME_S = 1_200;
export const MAX_JOIN_TOKEN_LIFETIME_S = 365 * 86_400;
/** Too long to be guessed, whoever made it up. */
export const MIN_JOIN_TOKEN_BYTES = 32;
/** Join tokens of one HQ that work at a time; one more is refused. */
export const MAX_JOIN_TOKENS = 1_000;
/** Keys of remotes that one HQ keeps; one more is refused. */
export const MAX_REMOTE_KEYS = 10_000;
/** By how much the clocks of a remote that joins and its HQ may differ. */
export const MAX_JOIN_CLOCK_SKEW_MS = 300_000;
export const WS_TICKET_LIFETIME_MS = 30_000;

/** The defaults of `--grace` and `--drain-delay`: Kubernetes gives a pod 30 s, of which its preStop takes some. */
export const DEFAULT_GRACE_MS = 20_000;
export const DEFAULT_DRAIN_DELAY_MS = 0;
/** GOAWAY: how soon clients go, and over how long they are spread, for each of them and at most. */
export const GOAWAY_AFTER_MS = 100;
export const GOAWAY_JITTER_PER_CLIENT_MS = 2;
export const MAX_GOAWAY_JITTER_MS = 5_000;
/** How long after that those are closed who did not go. */
export const GOAWAY_PATIENCE_MS = 1_000;

/** Between SIGTERM and SIGKILL when a session is ended (contract 2.3). */
export const KILL_GRACE_MS = 3_000;
/** Between SIGHUP and SIGTERM when a session is ended: time to save what is to be saved at a hangup. */
export const HANGUP_GRACE_MS = 250;
/** What SIGKILL is given to end a process before it is given up on. */
export const SIGKILL_WAIT_MS = 2_000;

export const DEFAULT_PORT = 4020;

/** The client's own keep-alive on /ws: a PING this often; silence over so many of them means that the link is dead. */
export const CLIENT_PING_INTERVAL_MS = 20_000;
export const CLIENT_MAX_MISSED_PONGS = 2;
/** The page's: somebody types there, and a silent link is noticed within three of them. */
export const PAGE_PING_INTERVAL_MS = 1_600;
/** After a wake-up (sleep, network change) the link must answer within this; one that is being left, too. */
export const CLIENT_PROBE_TIMEOUT_MS = 5_000;
export const CONNECT_TIMEOUT_MS = 10_000;
/** Before the first try to get a good link back; later ones wait RETRY_FIRST_MS and more. */
export const RECONNECT_QUICK_MS = 50;
/** A link that held this long was a good one: the next reconnect starts over with the quick try. */
export const STABLE_LINK_MS = 1_000;
/** After a restart was announced by GOAWAY: between two tries, at most; and how long being without a link is no news. */
export const RECONNECT_PLANNED_MS = 200;
export const PLANNED_RESTART_MS = 2_000;
/** Where it takes longer, as a pod does that is replaced: for how long in all, and between two tries, at most. */
export const AWAITED_RESTART_MS = 60_000;
export const RECONNECT_AWAITED_MS = 2_000;
/**
 * How long a try may take then; after each that nobody answered twice as long, up to CONNECT_TIMEOUT_MS. The address of a
 * machine that is gone may answer nothing, and such a try would outlast the restart; a slow server needs longer ones.
 */
export const RECONNECT_TRY_MS = 3_000;
/** A subscription that the server refused for now is tried again after this. */
export const RESUBSCRIBE_DELAY_MS = 1_000;
/** Longer input is sent as several frames, so that it does not hold up what comes after it. */
export const MAX_INPUT_FRAME_BYTES = 64 * 1024;
/** What a client lets wait in its link; input beyond it is refused. */
export const MAX_UNSENT_BYTES = 16 * 1024 * 1024;
/** Commands of one client that wait for their acknowledgement; one more is refused. */
export const MAX_PENDING_COMMANDS = 10_000;

/** What a token secret must have at least (HS256 signs with 256 bits). */
export const MIN_TOKEN_SECRET_BYTES = 32;
/** A longer access token or ticket is refused unread. */
export const MAX_TOKEN_LENGTH = 4_096;
/** How long a share link may work. */
export const MIN_SHARE_LIFETIME_S = 60;
export const DEFAULT_SHARE_LIFETIME_S = 86_400;
export const MAX_SHARE_LIFETIME_S = 30 * 86_400;
/** Links of one server that work at a time; one more is refused. */
export const MAX_SHARES = 1_000;
/** Of those, made by one user. */
export const MAX_SHARES_OF_USER = 200;
/** Tickets waiting to be used; over that the oldest is forgotten. */
export const MAX_WS_TICKETS = 10_000;
export const LOGIN_LINK_LIFETIME_MS = 600_000;
/** Login links waiting to be used; over that the oldest is forgotten. */
export const MAX_LOGIN_LINKS = 16;
/** How long a second factor may take. */
export const SECOND_FACTOR_LIFETIME_MS = 300_000;
/** Entries of one page of the audit log, how long they may be together, and how much of the log is searched for them. */
export const MAX_AUDIT_PAGE = 1_000;
export const MAX_AUDIT_PAGE_BYTES = 1024 * 1024;
export const MAX_AUDIT_SCAN_BYTES = 8 * 1024 * 1024;
/** How long a user may take to make a passkey with an administrator's code. */
export const ENROLMENT_CODE_LIFETIME_S = 86_400;
/** Codes that were not used yet; over that the oldest is forgotten. */
export const MAX_ENROLMENT_CODES = 1_000;
/** Logins that wait for one; over that the oldest is forgotten. */
export const MAX_SECOND_FACTORS = 1_000;
/** Of one user. */
export const MAX_PASSKEYS = 20;
/** Logins that count at a time, of a user and of all; over that the oldest is over. */
export const MAX_LOGINS_PER_USER = 500;
export const MAX_LOGINS = 10_000;
/** API tokens that work at a time, of a user and of all; one more is refused. */
export const MAX_API_TOKENS_PER_USER = 100;
export const MAX_API_TOKENS = 10_000;
export const MAX_API_TOKEN_LIFETIME_S = 365 * 86_400;
/** How often at most it is noted that a login is used. */
export const LOGIN_USE_INTERVAL_MS = 60_000;
/** Of a User-Agent that is kept with a login; what is longer is cut. */
export const MAX_CLIENT_LENGTH = 256;
/** Logins and share links that were ended and are remembered until they would have expired; over that the oldest is forgotten. */
export const MAX_ENDED_RECORDS = 50_000;
/** Failed logins are counted over this long. */
export const LOGIN_WINDOW_MS = 60_000;
/** How much longer than that window an address waits at most that fails again and again, and how long that is remembered. */
export const MAX_LOGIN_PENALTY_MS = 900_000;
export const LOGIN_PENALTY_MEMORY_MS = 3_600_000;
/** Addresses, and users, whose failed logins are counted at a time. */
export const MAX_COUNTED_LOGINS = 10_000;
/** So long after a login from an address, failures elsewhere do not keep that user out there. */
export const PROVEN_LOGIN_MS = 30 * 86_400_000;
/** How long what is to be signed with an SSH key can be answered (specification 5.3). */
export const SSH_CHALLENGE_LIFETIME_MS = 300_000;
/** Challenges waiting for their answer; over that the oldest is forgotten. */
export const MAX_SSH_CHALLENGES = 10_000;
/** A refused login by key is answered after this, or a multiple: reading a user's keys takes a process of its own. */
export const KEY_REFUSAL_MS = 500;
/** How long it may take to find out whether a user has a key. */
export const KEY_LOOKUP_TIMEOUT_MS = 10_000;
/** The part of it that reading the files may take: a home may be on a disk that hangs. */
export const KEY_READ_TIMEOUT_MS = 8_000;
/** A larger authorized_keys is not read: about 10,000 keys. */
export const MAX_AUTHORIZED_KEYS_BYTES = 1024 * 1024;

/** What a feed holds in memory of one session's output; a viewer further behind reads the journal or gets RESYNC. */
export const FEED_WINDOW_BYTES = 4 * 1024 * 1024;
/** What a feed keeps of output that every viewer has had. */
export const FEED_KEEP_BYTES = 64 * 1024;
/** Unsent bytes of a viewer over which nothing more is offered to it until some have left. */
export const OUTBOX_BYTES = 512 * 1024;
/** Unsent bytes of answers and events of a viewer over which its requests are not read. */
export const OUTBOX_PAUSE_BYTES = 1024 * 1024;
/** Unsent bytes of answers and events of a viewer over which it is dropped: events come whether or not it is read. */
export const MAX_UNREAD_ANSWER_BYTES = 2 * 1024 * 1024;
/** Requests of a viewer that wait for one before them, or for the backend, over which it is not read. */
export const MAX_OPEN_REQUESTS = 256;
/** What could not be read of a session's past is tried again after this. */
export const REREAD_DELAY_MS = 500;
/** A viewer further behind than a feed's window that took nothing for this long gets RESYNC instead of the past. */
export const STALLED_AFTER_MS = 500;
/** A viewer that falls further behind than this gets RESYNC, however steadily it reads; one that named its byte does not. */
export const MAX_BEHIND_BYTES = 64 * 1024 * 1024;

/** Between two tries to reach something: the first pause, doubled each time up to the longest (contract 6.2). */
export const RETRY_FIRST_MS = 500;
export const RETRY_MAX_MS = 15_000;

/** What a client waits for an answer, or for the head of a streamed one. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** The longest JSON or text that a client takes for an answer. */
export const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** One message of a server that we are a client of: a RESYNC with its scrollback may be larger than what clients may send. */
export const MAX_UPLINK_MESSAGE_BYTES = 64 * 1024 * 1024;
/** What one figure of /metrics may take to be looked up. */
export const METRICS_TIMEOUT_MS = 2_000;

/** How long a server waits for the session host that it started. */
export const HOST_START_TIMEOUT_MS = 10_000;
/** How long a server that was told of a host of others waits for it before it serves without. */
export const EXTERNAL_HOST_TIMEOUT_MS = 30_000;

/** Lines above the screen that a RESYNC, a text and a terminal of the session host have. */
export const SCREEN_SCROLLBACK_LINES = 1_000;
/** Terminals that are kept for the next question; over that the one not asked for longest is dropped. */
export const MAX_SCREEN_TERMINALS = 32;
/** Cells of all of these together, scrollback included: about 200 MB. */
export const MAX_SCREEN_CELLS = 16 * 1024 * 1024;
/** A terminal that nobody asked for this long is dropped. */
export const SCREEN_IDLE_MS = 60_000;
/** A screen takes no longer; 30 MiB of output a second are parsed where nothing can be left out. */
export const SCREEN_TIMEOUT_MS = 30_000;
export const SCREEN_CLOSE_TIMEOUT_MS = 2_000;
/** How long after a command the PING follows that asks what became of it and of those sent meanwhile. */
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
/** How long a read waits for changes; without an answer after REGISTRY_TIMEOUT_MS more the connection is lost. */
export const REGISTRY_WAIT_MS = 4_000;
/** The longest pause between two attempts to connect. */
export const REGISTRY_RETRY_MAX_MS = 2_000;
/** Limit for stored changes, the oldest are dropped; an HQ that missed some reads everything. */
export const MAX_REGISTRY_CHANGES = 4_096;
/** How long an HQ may remove remotes after a health check; longer than the interval of the checks. */
export const PROBE_LEASE_MS = 20_000;
/** How long an HQ that no remote answered passes the lease on: time for a health check by each other HQ. */
export const PROBE_LEASE_PASSED_MS = 30_000;
/** An HQ without a health check for this long is gone. */
export const REPLICA_LIFETIME_MS = 40_000;

/** How long the system may take to say who a user is, and which limits it sets. */
export const SYSTEM_LOOKUP_TIMEOUT_MS = 10_000;
/** Passwords that the system is asked about at a time: each may cost it 16 MB, and a process for seconds. */
export const SYSTEM_PASSWORDS_AT_ONCE = 8;
/** More that wait for their turn; one more is refused. */
export const MAX_WAITING_SYSTEM_PASSWORDS = 64;
/** What PAM may take until it asks or answers, before it is given up on. */
export const PAM_STEP_TIMEOUT_MS = 30_000;
/** The same with a worker that starts; a worker that takes longer hangs itself. */
export const SYSTEM_PASSWORD_TIMEOUT_MS = 35_000;
/** How long somebody may take to answer what the system asks beside the password. */
export const LOGIN_QUESTION_LIFETIME_MS = 60_000;
/** How often it may ask in one login. */
export const MAX_LOGIN_QUESTIONS = 8;
/** Logins that wait for such an answer; over that the oldest of the address that has the most is ended. */
export const MAX_PENDING_LOGINS = 64;
/** Of those, from one address; over that its oldest is ended. */
export const MAX_PENDING_LOGINS_PER_ADDRESS = 16;
/** A worker that was asked nothing for so long is ended. */
export const ACCOUNT_WORKER_IDLE_MS = 60_000;
/** How old the status of an account may be at a request, and how often it is checked for an open socket or stream. */
export const ACCOUNT_MEMORY_MS = 15_000;
/** Accounts whose status is remembered. */
export const MAX_ACCOUNTS = 1_000;
/** Questions about accounts that the system is asked at a time, and those that wait for their turn. */
export const ACCOUNT_LOOKUPS_AT_ONCE = 8;
export const MAX_WAITING_ACCOUNT_LOOKUPS = 1_000;
/** Two questions of SYSTEM_LOOKUP_TIMEOUT_MS each, and a worker that starts. */
export const ACCOUNT_LOOKUP_TIMEOUT_MS = 25_000;
/** A wrong system password is answered after this, or a multiple: PAM's own delay is 1 to 3 s, and it has to work. */
export const WRONG_PASSWORD_MS = 4_000;
/** So long after a refusal that took longer than its step, all others are answered as late. */
export const SLOW_REFUSAL_MEMORY_MS = 3_600_000;

/** The reverse proxy of --enable-proxy-serve. How long one login lasts at most, whatever its provider says. */
export const PROXY_LOGIN_LIFETIME_MS = 43_200_000;
/** How long somebody may take to log in at the provider. */
export const PROXY_LOGIN_TIMEOUT_MS = 600_000;
/** Logins at a time; over that the oldest is over. */
export const MAX_PROXY_LOGINS = 10_000;
/** Logins of one user at a time, so that no user ends those of others. */
export const MAX_PROXY_LOGINS_OF_USER = 32;
/** Logins that one browser has begun and not finished; each takes up to a kilobyte of every request. */
export const MAX_BEGUN_LOGINS = 4;
/** What a provider is given to answer. */
export const PROVIDER_TIMEOUT_MS = 10_000;
/** How far its clock may differ from ours. */
export const PROVIDER_CLOCK_TOLERANCE_S = 30;
/** A login is confirmed by its provider at least this often while it is used. */
export const PROVIDER_CONFIRM_MS = 300_000;
/** For how long a provider that does not say so stands by what it said. */
export const PROVIDER_ANSWER_LIFETIME_MS = 3_600_000;

/** Changes of sessions that are kept while their source is being listed. */
export const MAX_PENDING_CHANGES = 10_000;

/** Before a list of sessions that could not be read is asked for again; twice as long each time, up to the maximum. */
export const LIST_RETRY_FIRST_MS = 500;
export const LIST_RETRY_MAX_MS = 10_000;

/** Clients are told of a command that ran at least so long in a session's foreground. */
export const COMMAND_FINISHED_MIN_MS = 3_000;
