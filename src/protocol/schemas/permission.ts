import { z } from "zod";

/** What somebody may do; each endpoint and each frame needs one of them. Which role has which says auth/roles.ts. */
export const Permission = z.enum([
  /** One's own logins and API tokens, their second factor, and whether their clients are told of events. */
  "account:use",
  /** Logins and API tokens of everybody, and enrolment codes. */
  "accounts:manage",
  /** List sessions, watch them, read their output and recordings. */
  "sessions:view",
  "sessions:create",
  /** Type, resize, set markers. */
  "sessions:control",
  /** Rename, send signals, end, remove, share. */
  "sessions:manage",
  /** Worktrees, branches and follow mode. */
  "repositories:use",
  /** The machines of an HQ. */
  "remotes:view",
  /** Register, refresh and unregister a remote. */
  "remotes:register",
  /** Join tokens and the keys of remotes. */
  "remotes:manage",
  "clients:view",
  "metrics:view",
  /** The audit log of the server. */
  "audit:view",
]);
export type Permission = z.infer<typeof Permission>;

/** What an API token can be for: nothing by which it could make or end other proofs of who somebody is. */
export const TokenScope = Permission.exclude(["account:use", "accounts:manage", "remotes:manage"]);
export type TokenScope = z.infer<typeof TokenScope>;
