// What the audit log tells: who did what to which session, from where, and with which result.

/** The closed set of what is told of. */
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
  /** Any other request that was refused. */
  | "request"
  /** Lines are missing here: the disk did not take them. */
  | "audit.gap"
  /** The line before was cut off by a crash or a full disk. */
  | "audit.torn"
  /** A new file begins; "first" is the oldest sequence number that is kept. */
  | "audit.rotate"
  /** The log was not as the server had left it. */
  | "audit.break"
  /** A receiver did not get so many lines. */
  | "audit.unshipped";

/** "refused": not allowed. "failed": allowed, and not done. */
export type AuditResult = "ok" | "refused" | "failed";

/** Never input, output, environments or proofs. What is too long is cut. */
export type AuditDetails = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export type AuditEntry = {
  readonly action: AuditActionName;
  readonly result: AuditResult;
  readonly user?: string | undefined;
  /** How the user proved it: of a login "password", "link", "ssh-key"; else the method of the principal. */
  readonly method?: string | undefined;
  /** Where from; without one through a unix socket of this machine. */
  readonly address?: string | undefined;
  /** Of the request, or the handshake of the WebSocket, that it was done by: the same as in the log. */
  readonly requestId?: string | undefined;
  readonly session?: string | undefined;
  /** On an HQ: the machine that it is about. */
  readonly remote?: string | undefined;
  readonly details?: AuditDetails | undefined;
};

/** Where entries go. Never throws and keeps nobody waiting. */
export type Audit = { write(entry: AuditEntry): void };
