import type { ServerEvent } from "../protocol/frame/event.ts";
import type { FinishedCommand } from "./pty/foreground.ts";
import type { StoredSession } from "./storage/stored-session.ts";

/** What clients are told when something happened to a session. */
export function sessionNews(type: ServerEvent["type"], stored: StoredSession): ServerEvent {
  const { id, name, owner, exit } = stored;
  return {
    ...{ type, timestamp: new Date().toISOString(), sessionId: id, sessionName: name },
    ...(owner === undefined ? {} : { owner }),
    ...(exit === undefined ? {} : { exitCode: exit.code }),
  };
}

/** What they are told when a command in its foreground has ended. */
export function commandNews(
  { command, duration, exitCode }: FinishedCommand,
  stored: StoredSession,
): ServerEvent {
  return { ...sessionNews("command-finished", stored), command, duration, exitCode };
}
