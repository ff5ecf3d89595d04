// Which requests are audited, and what is recorded of each.
import { z } from "zod";
import { type Endpoint, type EndpointInput, matchPath } from "../protocol/endpoints/endpoint.ts";
import type { EndpointName, Endpoints } from "../protocol/endpoints/endpoints.ts";
import { sessionEndpoints } from "../protocol/endpoints/session.ts";
import type { SecondFactorProof } from "../protocol/schemas/passkey.ts";
import type { SetCordon } from "../protocol/schemas/remote.ts";
import type { AuditActionName, AuditDetails, AuditEntry } from "./entry.ts";

/** `method` and `user`: of a login, the user if it succeeded. */
export type AuditAction = Omit<AuditEntry, "result" | "address" | "requestId"> & {
  /** The name that was given in a login. */
  readonly claimed?: string | undefined;
  /** Recorded once in ten minutes, or once a day, per caller and text. */
  readonly once?: string;
  readonly daily?: string;
  /** Of a daily action: recorded again when it changes. */
  readonly state?: string;
  /** No rate limit counts this action of a remote: lines of the same action and text are limited instead. */
  readonly remoteKind?: string;
};

/** The answer of an endpoint: its JSON, or the length of its bytes. Undefined after failures. */
type Answer<E extends Endpoint> =
  | (E["reply"] extends { readonly json: infer J extends z.ZodType }
      ? z.output<J>
      : { readonly length?: number })
  | undefined;

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
  createPasskey: ({ body: { name } }) => did("passkey.create", { name }),
  removePasskey: ({ params }) => did("passkey.remove", { id: params.passkeyId }),
  createRecoveryCodes: () => did("recovery-codes.create"),
  createEnrolmentCode: ({ body }) => did("enrolment-code.create", { for: body.user }),
  logout: () => did("logout"),
  endLogin: ({ params }, answer) => did("login.end", { id: params.loginId, of: answer?.user }),
  createApiToken: ({ body: { name, scope, expiresIn } }, answer) =>
    did("api-token.create", { id: answer?.id, name, scope, expiresIn }),
  revokeApiToken: ({ params }, answer) => did("api-token.revoke", { id: params.tokenId, of: answer?.user }),
  createLoginLink: () => did("login-link.create"),

  cordonServer: ({ body }) => cordoned(body),
  cordonRemote: ({ params, body }) => ({ ...cordoned(body), remote: params.name }),
  readAudit: ({ query: { since, until, user, action, session, result } }) =>
    did("audit.read", { since, until, user, action, session, result }),

  createSession: ({ body }, answer) => {
    const { command = [body.command ?? [], body.args ?? []].flat() } = answer ?? {};
    const { cwd = body.cwd ?? body.workingDir, name = body.name, owner } = answer ?? {};
    const { id: session = body.id, remoteName: remote } = answer ?? {};
    const details = { command, cwd, name, owner, account: body.account };
    return { ...did("session.create", details), session, remote };
  },
  deleteSession: ({ params }, answer) =>
    didTo(params.id, answer?.status === "removed" ? "session.remove" : "session.end"),
  cleanupSession: ({ params }) => didTo(params.id, "session.remove"),
  cleanupExited: (_, answer) =>
    did("session.remove", { sessions: answer?.cleanedSessions, count: answer?.cleanedSessions.length }),
  renameSession: ({ params, body: { name } }) => didTo(params.id, "session.rename", { name }),
  killSession: ({ params, body }) => signalled(params.id, body.signal),
  inputSession: ({ params }) => typed(params.id),
  markSession: ({ params: { id } }) => ({ ...didTo(id, "session.mark"), once: `mark ${id}` }),

  sessionText: ({ params }) => viewed(params.id, "text"),
  sessionBuffer: ({ params }) => viewed(params.id, "buffer"),
  sessionResync: ({ params }) => viewed(params.id, "resync"),
  sessionRecording: ({ params }) => viewed(params.id, "recording"),
  sessionStream: ({ params }) => viewed(params.id, "stream"),
  sessionOutput: ({ params }) => viewed(params.id, "output"),
  sessionEvents: ({ params }) => viewed(params.id, "events"),

  uploadFile: ({ params, query: { name } }, answer) =>
    didTo(params.id, "file.upload", { name, path: answer?.path, size: answer?.size }),
  downloadFile: ({ params, query: { path } }, answer) =>
    didTo(params.id, "file.download", { path, size: answer?.length }),

  createShare: ({ params, body: { mode, resize, expiresIn } }, answer) =>
    didTo(params.id, "share.create", { share: answer?.id, mode, resize, expiresIn }),
  updateShare: ({ params, body: { mode } }) =>
    didTo(params.id, "share.update", { share: params.shareId, mode }),
  revokeShare: ({ params }) => didTo(params.id, "share.revoke", { share: params.shareId }),

  createWorktree: ({ body: { branch, baseBranch, ...paths } }, answer) => {
    const path = answer?.path ?? paths.path;
    return did("worktree.create", { repoPath: repoPathOf(paths), branch, baseBranch, path });
  },
  removeWorktree: ({ params: { branch }, query }, answer) => {
    const { force } = query;
    return did("worktree.remove", { repoPath: repoPathOf(query), branch, force, path: answer?.removedPath });
  },
  pruneWorktrees: ({ body }, answer) =>
    did("worktree.prune", { repoPath: repoPathOf(body), paths: answer?.worktrees }),
  switchBranch: ({ body }, answer) => {
    const { branch } = body;
    return did("worktree.switch", { repoPath: repoPathOf(body), branch, following: answer?.following });
  },
  setFollow: ({ body: { repoPath, branch, enable, dryRun } }) =>
    dryRun ? undefined : did("worktree.follow", { repoPath, branch, enable }),

  registerRemote: ({ body: { id, name: remote, url } }, answer) => {
    const isNew = answer?.remote.registeredAt === answer?.remote.lastHeartbeat;
    const registered = { ...did(isNew ? "remote.register" : "remote.refresh", { id, url }), remote };
    const repeated = { ...registered, remoteKind: remote };
    return isNew ? repeated : { ...repeated, daily: `refresh ${id}`, state: url };
  },
  joinRemote: ({ body: { name: remote } }, answer) => {
    const { remoteId: id, enrolled } = answer ?? {};
    const joined = { ...did("remote.join", { id, enrolled }), remote, remoteKind: remote };
    return enrolled === false ? { ...joined, daily: `join ${id}` } : joined;
  },
  createJoinToken: ({ body: { name, expiresIn, reusable } }, answer) =>
    did("join-token.create", { id: answer?.id, name, expiresIn, reusable }),
  revokeJoinToken: ({ params }) => did("join-token.revoke", { id: params.tokenId }),
  revokeRemoteKey: ({ params }) => ({ ...did("remote.revoke-key"), remote: params.name }),
  removeRemote: ({ params }) => ({ ...did("remote.remove", { id: params.id }), remoteKind: params.id }),
};

function did(action: AuditActionName, details?: AuditDetails): AuditAction {
  return { action, details };
}

function cordoned({ cordoned, untilRestart }: SetCordon): AuditAction {
  return did(cordoned ? "server.cordon" : "server.uncordon", { untilRestart });
}

function didTo(session: string, action: AuditActionName, details?: AuditDetails): AuditAction {
  return { ...did(action, details), session };
}

type Input = { readonly params: unknown; readonly query: unknown; readonly body: unknown };
type AnyDescription = (input: Input, answer: unknown) => AuditAction | undefined;

/** `input`: as parsed by the endpoint's schemas. */
export function actionOf(endpoint: string): AnyDescription | undefined {
  const describe: unknown = Object.hasOwn(ACTIONS, endpoint) ? Object(ACTIONS)[endpoint] : undefined;
  return isDescription(describe) ? describe : undefined;
}

function isDescription(value: unknown): value is AnyDescription {
  return typeof value === "function";
}

export function typed(session: string): AuditAction {
  return { ...didTo(session, "session.input"), once: `input ${session}` };
}

export function signalled(session: string, signal: string): AuditAction {
  return { ...didTo(session, "session.kill", { signal }), once: `kill ${session} ${signal}` };
}

/** `view`: the last part of the path, or "socket". */
export function viewed(session: string, view: string): AuditAction {
  return { ...didTo(session, "session.view", { view }), once: `view ${session} ${view}` };
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

/**
 * For requests that an HQ forwards, /api/remotes/NAME/proxy/…: the same as for direct ones. Undefined for reads other
 * than views of sessions and downloads.
 */
export function proxiedAction(
  method: string,
  { params, ...input }: Input,
  answer: unknown,
): AuditAction | undefined {
  const proxied = Proxied.safeParse(params);
  if (!proxied.success) return undefined;
  const { name: remote, path } = proxied.data;
  const known = sessionAction(method, path[0] === "api" ? path : ["api", ...path], input, answer);
  if (known !== undefined) return { ...known, remote };
  if (method === "GET" || method === "HEAD") return undefined;
  return { ...did("remote.request", { method, path: path.join("/") }), remote };
}

function sessionAction(
  method: string,
  path: readonly string[],
  input: Omit<Input, "params">,
  answer: unknown,
): AuditAction | undefined {
  for (const [name, endpoint] of Object.entries<Endpoint>(sessionEndpoints)) {
    if (endpoint.method.toUpperCase() !== method) continue;
    const params = matchPath(endpoint, path);
    const body = parsed(endpoint.body, input.body);
    if (params === undefined || body === undefined) continue;
    const query = parsed(endpoint.query, input.query)?.value ?? {};
    // JSON passes through the HQ unread.
    const seen = "json" in endpoint.reply ? undefined : answer;
    return actionOf(name)?.({ params, query, body: body.value }, seen);
  }
  return undefined;
}

/** `undefined` for input that the schema does not take. */
function parsed(schema: z.ZodType | undefined, input: unknown): { readonly value: unknown } | undefined {
  if (schema === undefined) return { value: undefined };
  const { success, data } = schema.safeParse(input ?? {});
  return success ? { value: data } : undefined;
}
