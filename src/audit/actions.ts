// Which requests are audited, and what is recorded of each.
import { z } from "zod";
import { type Endpoint, type EndpointInput, matchPath } from "../protocol/endpoints/endpoint.ts";
import type { EndpointName, Endpoints } from "../protocol/endpoints/endpoints.ts";
import { sessionEndpoints } from "../protocol/endpoints/session.ts";
import type { SecondFactorProof } from "../protocol/schemas/passkey.ts";
import type { AuditActionName, AuditDetails } from "./entry.ts";

export type AuditAction = {
  readonly action: AuditActionName;
  readonly session?: string | undefined;
  readonly remote?: string | undefined;
  readonly details?: AuditDetails;
  /** Of a login: the method, the user if it succeeded, and the name that was given. */
  readonly method?: string;
  readonly user?: string | undefined;
  readonly claimed?: string | undefined;
  /** Recorded once in ten minutes, or once a day, per caller and text. */
  readonly once?: string;
  readonly daily?: string;
};

/** The answer of an endpoint with JSON; undefined for others and after failures. */
type Answer<E extends Endpoint> = E["reply"] extends { readonly json: infer J extends z.ZodType }
  ? z.output<J> | undefined
  : undefined;

type Describe<E extends Endpoint> = (input: EndpointInput<E>, answer: Answer<E>) => AuditAction | undefined;

/** Endpoints without an entry here are recorded only when refused. */
const ACTIONS: { readonly [Name in EndpointName]?: Describe<Endpoints[Name]> } = {
  createToken: ({ body: { ticket, username } }, answer) =>
    login(ticket === undefined ? "password" : "link", answer?.user, username),
  answerLogin: (_, answer) => login("password", answer?.user),
  passwordLogin: ({ body }, answer) => login("password", answer?.userId, body.userId),
  sshLogin: (_, answer) => login("ssh-key", answer?.user),
  sshKeyLogin: (_, answer) => login("ssh-key", answer?.userId),
  secondFactor: ({ body }, answer) => ({
    ...login("second-factor", answer?.user),
    details: { by: proofOf(body) },
  }),
  createPasskey: ({ body }) => ({ action: "passkey.create", details: { name: body.name } }),
  removePasskey: ({ params }) => ({ action: "passkey.remove", details: { id: params.passkeyId } }),
  createRecoveryCodes: () => ({ action: "recovery-codes.create" }),
  createEnrolmentCode: ({ body }) => ({ action: "enrolment-code.create", details: { for: body.user } }),
  logout: () => ({ action: "logout" }),
  endLogin: ({ params }, answer) => ({
    action: "login.end",
    details: { id: params.loginId, of: answer?.user },
  }),
  createApiToken: ({ body: { name, scope, expiresIn } }, answer) => ({
    action: "api-token.create",
    details: { id: answer?.id, name, scope, expiresIn },
  }),
  revokeApiToken: ({ params }, answer) => ({
    action: "api-token.revoke",
    details: { id: params.tokenId, of: answer?.user },
  }),
  createLoginLink: () => ({ action: "login-link.create" }),

  readAudit: ({ query: { since, until, user, action, session } }) => ({
    action: "audit.read",
    details: { since, until, user, action, session },
  }),

  createSession: ({ body }, answer) => ({
    ...{ action: "session.create", session: answer?.id ?? body.id, remote: answer?.remoteName },
    details: {
      command: answer?.command ?? [body.command ?? [], body.args ?? []].flat(),
      cwd: answer?.cwd ?? body.cwd ?? body.workingDir,
      ...{ name: answer?.name ?? body.name, owner: answer?.owner, account: body.account },
    },
  }),
  deleteSession: ({ params }, answer) => ({
    action: answer?.status === "removed" ? "session.remove" : "session.end",
    session: params.id,
  }),
  cleanupSession: ({ params }) => ({ action: "session.remove", session: params.id }),
  cleanupExited: (_, answer) => ({
    action: "session.remove",
    details: { sessions: answer?.cleanedSessions, count: answer?.cleanedSessions.length },
  }),
  renameSession: ({ params, body }) => ({
    ...{ action: "session.rename", session: params.id },
    details: { name: body.name },
  }),
  killSession: ({ params, body }) => signalled(params.id, body.signal),
  inputSession: ({ params }) => typed(params.id),
  markSession: ({ params }) => ({
    ...{ action: "session.mark", session: params.id },
    once: `mark ${params.id}`,
  }),

  sessionText: ({ params }) => viewed(params.id, "text"),
  sessionBuffer: ({ params }) => viewed(params.id, "buffer"),
  sessionResync: ({ params }) => viewed(params.id, "resync"),
  sessionRecording: ({ params }) => viewed(params.id, "recording"),
  sessionStream: ({ params }) => viewed(params.id, "stream"),
  sessionOutput: ({ params }) => viewed(params.id, "output"),
  sessionEvents: ({ params }) => viewed(params.id, "events"),

  createShare: ({ params, body: { mode, expiresIn } }, answer) => ({
    ...{ action: "share.create", session: params.id },
    details: { share: answer?.id, mode, expiresIn },
  }),
  revokeShare: ({ params }) => ({
    ...{ action: "share.revoke", session: params.id },
    details: { share: params.shareId },
  }),

  createWorktree: ({ body: { branch, baseBranch, ...paths } }, answer) => ({
    action: "worktree.create",
    details: { repoPath: repoPathOf(paths), branch, baseBranch, path: answer?.path ?? paths.path },
  }),
  removeWorktree: ({ params: { branch }, query }, answer) => ({
    action: "worktree.remove",
    details: { repoPath: repoPathOf(query), branch, force: query.force, path: answer?.removedPath },
  }),
  pruneWorktrees: ({ body }, answer) => ({
    action: "worktree.prune",
    details: { repoPath: repoPathOf(body), paths: answer?.worktrees },
  }),
  switchBranch: ({ body }, answer) => ({
    action: "worktree.switch",
    details: { repoPath: repoPathOf(body), branch: body.branch, following: answer?.following },
  }),
  setFollow: ({ body: { repoPath, branch, enable, dryRun } }) =>
    dryRun ? undefined : { action: "worktree.follow", details: { repoPath, branch, enable } },

  registerRemote: ({ body: { id, name, url } }, answer) => {
    const told = { remote: name, details: { id, url } };
    const isNew = answer?.remote.registeredAt === answer?.remote.lastHeartbeat;
    if (isNew) return { ...told, action: "remote.register" };
    return { ...told, action: "remote.refresh", daily: `refresh ${id} ${url}` };
  },
  joinRemote: ({ body: { name } }, answer) => {
    const told = { remote: name, details: { id: answer?.remoteId, enrolled: answer?.enrolled } };
    const isRenewal = answer?.enrolled === false;
    return { ...told, action: "remote.join", ...(isRenewal ? { daily: `join ${answer.remoteId}` } : {}) };
  },
  createJoinToken: ({ body: { name, expiresIn, reusable } }, answer) => ({
    action: "join-token.create",
    details: { id: answer?.id, name, expiresIn, reusable },
  }),
  revokeJoinToken: ({ params }) => ({ action: "join-token.revoke", details: { id: params.tokenId } }),
  revokeRemoteKey: ({ params }) => ({ action: "remote.revoke-key", remote: params.name }),
  removeRemote: ({ params }) => ({ action: "remote.remove", details: { id: params.id } }),
};

type AnyDescription = (
  input: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
  answer: unknown,
) => AuditAction | undefined;

/** `input`: as parsed by the endpoint's schemas. */
export function actionOf(endpoint: string): AnyDescription | undefined {
  const describe: unknown = Object.hasOwn(ACTIONS, endpoint) ? Object(ACTIONS)[endpoint] : undefined;
  return isDescription(describe) ? describe : undefined;
}

function isDescription(value: unknown): value is AnyDescription {
  return typeof value === "function";
}

export function typed(session: string): AuditAction {
  return { action: "session.input", session, once: `input ${session}` };
}

export function signalled(session: string, signal: string): AuditAction {
  return { action: "session.kill", session, details: { signal } };
}

/** `view`: the last part of the path, or "socket". */
export function viewed(session: string, view: string): AuditAction {
  return { action: "session.view", session, details: { view }, once: `view ${session} ${view}` };
}

/** Old clients use another name. */
function repoPathOf(named: {
  readonly repoPath?: string | undefined;
  readonly gitRepoPath?: string | undefined;
}): string | undefined {
  return named.repoPath ?? named.gitRepoPath;
}

function login(method: string, user: string | undefined, claimed?: string): AuditAction {
  return { action: "login", method, user, claimed };
}

/** A passkey created during the login is no proof of identity: the code is. */
function proofOf({ recoveryCode, registration }: SecondFactorProof): string {
  if (recoveryCode !== undefined) return "recovery-code";
  return registration === undefined ? "passkey" : "enrolment-code";
}

const Proxied = z.object({ name: z.string(), path: z.array(z.string()) });

export type ProxiedRequest = {
  readonly method: string;
  readonly params: unknown;
  readonly body: unknown;
};

/**
 * For requests that an HQ forwards, /api/remotes/NAME/proxy/…: the same as for direct ones. Undefined for reads other
 * than views of sessions.
 */
export function proxiedAction({ method, params, body }: ProxiedRequest): AuditAction | undefined {
  const proxied = Proxied.safeParse(params);
  if (!proxied.success) return undefined;
  const { name: remote, path } = proxied.data;
  const known = sessionAction(method, path[0] === "api" ? path : ["api", ...path], body);
  if (known !== undefined) return { ...known, remote };
  if (method === "GET" || method === "HEAD") return undefined;
  return { action: "remote.request", remote, details: { method, path: path.join("/") } };
}

function sessionAction(method: string, path: readonly string[], body: unknown): AuditAction | undefined {
  for (const [name, endpoint] of Object.entries(sessionEndpoints)) {
    if (endpoint.method.toUpperCase() !== method) continue;
    const params = matchPath(endpoint, path);
    const input = params && parsed(endpoint, body);
    if (params === undefined || input === undefined) continue;
    return actionOf(name)?.({ params, query: {}, body: input.body }, undefined);
  }
  return undefined;
}

function parsed(endpoint: Endpoint, body: unknown): { readonly body: unknown } | undefined {
  if (endpoint.body === undefined) return { body: undefined };
  const result = endpoint.body.safeParse(body ?? {});
  return result.success ? { body: result.data } : undefined;
}
