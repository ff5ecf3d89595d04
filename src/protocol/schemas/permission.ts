import { z } from "zod";

/** Most endpoints and frames need one of these; auth/roles.ts has the permissions of each role. */
export const Permission = z.enum([
  /** The user's own logins, API tokens, second factor and notifications. */
  "account:use",
  /** Logins and API tokens of all users, and enrolment codes. */
  "accounts:manage",
  /** List sessions, watch them, read their output and recordings. */
  "sessions:view",
  "sessions:create",
  /** Type, resize, set markers. */
  "sessions:control",
  /** Send files into a session, and fetch files of its user. */
  "sessions:files",
  /** Rename, send signals, end, remove, share. */
  "sessions:manage",
  /** Worktrees, branches and follow mode. */
  "repositories:use",
  /** The remotes of an HQ. */
  "remotes:view",
  /** Register, refresh and unregister a remote. */
  "remotes:register",
  /** Join tokens and the keys of remotes. */
  "remotes:manage",
  /** Stop new sessions on a server, and allow them again. */
  "servers:cordon",
  "clients:view",
  "metrics:view",
  /** The audit log of the server. */
  "audit:view",
]);
export type Permission = z.infer<typeof Permission>;

/** The scope of an API token: nothing that creates or ends other credentials. */
export const TokenScope = Permission.exclude(["account:use", "accounts:manage", "remotes:manage"]);
export type TokenScope = z.infer<typeof TokenScope>;

/** auth/roles.ts has the permissions of each role. */
export const Role = z.enum(["viewer", "user", "operator", "auditor", "admin"]);
export type Role = z.infer<typeof Role>;

/** `--role`: the role of a user (`*`: of all others), or of the members of a group. */
export type RoleRule =
  | { readonly user: string; readonly role: Role }
  | { readonly group: string; readonly role: Role };
