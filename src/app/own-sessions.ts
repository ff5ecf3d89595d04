// The terminals of this machine: in the session host's process, or in this one.
import type { Config, HostConfig } from "../config/config.ts";
import { hostArguments } from "../config/host-arguments.ts";
import { isOwnVariable } from "../lib/own-variables.ts";
import type { Log } from "../log.ts";
import { HOST_START_TIMEOUT_MS } from "../protocol/limits.ts";
import { ensureHost, type HostProgram } from "../remote/host-process.ts";
import { RemoteSessions } from "../remote/remote-sessions.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { ControlDir } from "../sessions/control-dir.ts";
import { LocalSessions } from "../sessions/local-sessions.ts";
import { Screens } from "../sessions/screen.ts";
import type { Surroundings } from "./surroundings.ts";

/** What of this machine has sessions in it; started where it does not run. */
export async function ownSessions(
  config: Config,
  surroundings: Surroundings,
  controlDir: ControlDir,
  log: Log,
): Promise<SessionBackend> {
  if (config.sessionHost === "inline") {
    const sessions = localSessions(config, surroundings, controlDir, log);
    await sessions.recover();
    return sessions;
  }
  const program = hostProgram(config, surroundings, controlDir);
  await ensureHost(program);
  const sessions = new RemoteSessions({
    target: { socketPath: controlDir.hostSocket },
    version: surroundings.version,
  });
  sessions.keep({
    ensure: () => ensureHost(program),
    onFailure: (error) => log.error({ error }, "session host not started"),
  });
  await sessions.connected(HOST_START_TIMEOUT_MS);
  return sessions;
}

export function localSessions(
  config: HostConfig,
  { env, account }: Surroundings,
  controlDir: ControlDir,
  log: Log,
): LocalSessions {
  const { maxBytes, withInput } = config.recording;
  const screens = new Screens();
  const now = (): number => performance.now();
  return new LocalSessions({
    ...{ controlDir, env, account, log, now, screens },
    maxRecordingBytes: maxBytes,
    recordInput: withInput,
  });
}

/** How the session host of a control directory is started. */
export function hostProgram(
  config: HostConfig,
  surroundings: Surroundings,
  controlDir: ControlDir,
): HostProgram {
  const { node, main, env } = surroundings;
  const { path, hostSocket: socketPath, hostLog: logPath } = controlDir;
  return {
    ...{ node, main, controlDir: path, socketPath, logPath },
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !isOwnVariable(name))),
    args: [...hostArguments(config), "--exit-when-idle"],
  };
}
