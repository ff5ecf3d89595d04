import type { ServerEvent } from "../protocol/event.ts";
import type { StoredSession } from "./stored-session.ts";

/** What clients are told when something happened to a session. */
export function sessionNews(type: ServerEvent["type"], stored: StoredSession): ServerEvent {
  const { id, name, owner, exit } = stored;
  return {
    ...{ type, timestamp: new Date().toISOString(), sessionId: id, sessionName: name },
    ...(owner === undefined ? {} : { owner }),
    ...(exit === undefined ? {} : { exitCode: exit.code }),
  };
}
