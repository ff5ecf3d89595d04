import type { Config, HostConfig } from "../config/config.ts";
import { isOwnVariable } from "../lib/os/own-variables.ts";
import type { Log } from "../log.ts";
import type { Send } from "../protocol/client/send.ts";
import { errorMessage } from "../protocol/errors.ts";
import { EXTERNAL_HOST_TIMEOUT_MS, HOST_START_TIMEOUT_MS } from "../protocol/limits.ts";
import { ensureHost, findHost, type HostProgram } from "../remote/host-process.ts";
import { RemoteSessions } from "../remote/remote-sessions.ts";
import { forwardedRepositories } from "../repositories/forwarded-repositories.ts";
import { LocalRepositories } from "../repositories/local-repositories.ts";
import type { Repositories } from "../repositories/repositories.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import { LocalSessions } from "../sessions/local-sessions.ts";
import { openUserCgroups, type UserCgroups } from "../sessions/run-as/user-cgroups.ts";
import { Screens } from "../sessions/screen/screens.ts";
import type { SessionMeter } from "../sessions/session-meter.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";
import type { ServerContext } from "./server-context.ts";

/** The sessions and repositories of this machine, in this process or in the session host. */
export type OwnSessions = {
  /** Owns the rest. */
  readonly backend: SessionBackend;
  readonly repositories: Repositories;
  /** The session host, if it is another process. `leave`: it is not started again. */
  readonly host?: { readonly isConnected: boolean; readonly send: Send; leave(): void };
  readonly meter?: SessionMeter;
};

/** Starts the session host if necessary. */
export async function ownSessions(
  config: Config,
  context: ServerContext,
  controlDir: ControlDir,
  log: Log,
): Promise<OwnSessions> {
  if (config.sessionHost === "inline") {
    const { begin, ...own } = await openLocalSessions(config, context, controlDir, log);
    await begin();
    return own;
  }
  // Programs may create a link there to another socket, such as this server's own.
  const target = { socketPath: controlDir.hostSocket, noFollow: true };
  const { version } = context;
  if (config.sessionHost === "external") return externalSessions({ target, version }, log);
  const program = hostProgram(config, context, controlDir);
  await ensureHost(program);
  const sessions = new RemoteSessions({ target, version });
  sessions.keep({
    ensure: () => ensureHost(program),
    onFailure: (error) => log.error({ error }, "session host not started"),
  });
  await sessions.connected(HOST_START_TIMEOUT_MS);
  return behindHost(sessions);
}

/** Waits for a host that is started elsewhere, so that the first requests find its sessions. Throws `host_incompatible`. */
async function externalSessions(
  options: {
    readonly target: { readonly socketPath: string; readonly noFollow: boolean };
    readonly version: string;
  },
  log: Log,
): Promise<OwnSessions> {
  const find = (): Promise<unknown> => findHost(options.target.socketPath);
  await using stack = new AsyncDisposableStack();
  const sessions = stack.use(new RemoteSessions(options));
  const onFailure = (error: unknown): void => log.warn({ error }, "session host not found");
  const isThere = await sessions.connected(EXTERNAL_HOST_TIMEOUT_MS).then(() => true, onFailure);
  if (isThere === true) await find();
  sessions.keep({ ensure: find, onFailure });
  stack.move();
  return behindHost(sessions);
}

function behindHost(sessions: RemoteSessions): OwnSessions {
  return { backend: sessions, repositories: forwardedRepositories(sessions.send), host: sessions };
}

/** `begin` takes over the sessions of an earlier host, before requests are served. */
export async function openLocalSessions(
  config: HostConfig,
  context: ServerContext,
  controlDir: ControlDir,
  log: Log,
): Promise<Omit<OwnSessions, "host"> & { readonly meter: SessionMeter; begin(): Promise<void> }> {
  const cgroups = context.isRoot ? userCgroups(log) : undefined;
  const { maxBytes: maxRecordingBytes, withInput: recordInput, keep } = config.recording;
  const sessions = new LocalSessions({
    ...{ ...context, controlDir, cgroups, log, maxRecordingBytes, recordInput, keep },
    screens: new Screens(),
    // Not a function of this file, which would be on the way of each byte.
    now: performance.now.bind(performance),
  });
  const repositories = await LocalRepositories.open({ ...context, cgroups, controlDir, sessions, log });
  return {
    ...{ backend: sessions, repositories, meter: sessions.meter },
    begin: () => sessions.recover(repositories, repositories.files),
  };
}

function userCgroups(log: Log): UserCgroups | undefined {
  try {
    return openUserCgroups();
  } catch (error) {
    // Most containers may not create any.
    const reason = errorMessage(error);
    log.debug({ reason }, "no control groups for users: only RLIMIT_NPROC limits their processes");
    return undefined;
  }
}

/** The command line of a session host. */
export function hostProgram(config: HostConfig, context: ServerContext, controlDir: ControlDir): HostProgram {
  const { node, main, env } = context;
  const { path, hostSocket: socketPath, hostLog: logPath } = controlDir;
  return {
    ...{ node, main, controlDir: path, socketPath, logPath },
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !isOwnVariable(name))),
    args: [...config.hostFlags, "--exit-when-idle"],
  };
}
