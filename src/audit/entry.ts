// The entries of the audit log: who did what to which session, from where, with which result.

export type AuditActionName =
  | "server.start"
  | "server.stop"
  | "login"
  | "logout"
  | "login.end"
  | "api-token.create"
  | "api-token.revoke"
  | "login-link.create"
  | "passkey.create"
  | "passkey.remove"
  | "recovery-codes.create"
  | "enrolment-code.create"
  | "session.create"
  | "session.end"
  | "session.remove"
  | "session.rename"
  | "session.kill"
  | "session.input"
  | "session.mark"
  | "session.view"
  | "share.create"
  | "share.revoke"
  | "share.use"
  | "worktree.create"
  | "worktree.remove"
  | "worktree.prune"
  | "worktree.switch"
  | "worktree.follow"
  | "join-token.create"
  | "join-token.revoke"
  | "remote.join"
  | "remote.revoke-key"
  | "remote.register"
  | "remote.refresh"
  | "remote.remove"
  | "remote.expire"
  | "remote.request"
  | "audit.read"
  /** Any other refused request. */
  | "request"
  /** Lines are missing: the disk did not accept them. */
  | "audit.gap"
  /** A crash or a full disk cut off the previous line. */
  | "audit.torn"
  /** A new file; "first" is the oldest sequence number that is kept. */
  | "audit.rotate"
  /** The log was changed since the server's last write. */
  | "audit.break"
  /** Lines that a receiver did not get. */
  | "audit.unshipped";

/** "refused": not allowed. "failed": allowed, but not done. */
export type AuditResult = "ok" | "refused" | "failed";

/** Never input, output, environments or proofs. Long values are cut. */
export type AuditDetails = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export type AuditEntry = {
  readonly action: AuditActionName;
  readonly result: AuditResult;
  readonly user?: string | undefined;
  /** Of a login "password", "link" or "ssh-key"; otherwise the principal's method. */
  readonly method?: string | undefined;
  /** Absent for the private unix socket. */
  readonly address?: string | undefined;
  /** Of the request or WebSocket handshake, as in the log. */
  readonly requestId?: string | undefined;
  readonly session?: string | undefined;
  /** On an HQ. */
  readonly remote?: string | undefined;
  readonly details?: AuditDetails | undefined;
};

/** Never throws and never blocks. */
export type Audit = { write(entry: AuditEntry): void };
