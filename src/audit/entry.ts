// The entries of the audit log: who did what to which session, from where, with which result.
import type { AuditResult } from "../protocol/schemas/audit.ts";

export type AuditActionName =
  | "login"
  | "login.end"
  | "logout"
  | `${"login-link" | "recovery-codes" | "enrolment-code"}.create`
  | `api-token.${"create" | "revoke"}`
  | `passkey.${"create" | "remove"}`
  | `server.${"start" | "stop" | "cordon" | "uncordon"}`
  | `session.${"create" | "end" | "remove" | "rename" | "kill" | "input" | "mark" | "view"}`
  | `file.${"upload" | "download"}`
  | `share.${"create" | "update" | "revoke" | "use"}`
  | `worktree.${"create" | "remove" | "prune" | "switch" | "follow"}`
  | `join-token.${"create" | "revoke"}`
  | `remote.${"join" | "revoke-key" | "register" | "refresh" | "remove" | "expire" | "request"}`
  /** Any other refused request. */
  | "request"
  /**
   * "gap": lines are missing, because the disk did not accept them. "torn": a crash or a full disk cut off the previous
   * line. "rotate": a new file; "first" is the oldest sequence number that is kept. "break": the log was changed since
   * the server's last write. "unshipped": lines that a receiver did not get.
   */
  | `audit.${"read" | "gap" | "torn" | "rotate" | "break" | "unshipped"}`;

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
