import { ServiceError } from "../protocol/errors.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import { printable } from "./text.ts";

const MIN_SHORT_ID = 4;

/** By id: unique beginnings of the ids, all of one length, that are not the name of a session. */
export function shortIds(
  sessions: readonly Pick<SessionRecord, "id" | "name">[],
): ReadonlyMap<string, string> {
  const names = new Set(sessions.map(({ name }) => name));
  const longest = sessions.reduce((most, { id }) => Math.max(most, id.length), MIN_SHORT_ID);
  for (let length = MIN_SHORT_ID; length < longest; length += 1) {
    const short = new Set(sessions.map(({ id }) => id.slice(0, length)));
    if (short.size === sessions.length && names.isDisjointFrom(short)) {
      return new Map(sessions.map(({ id }) => [id, id.slice(0, length)]));
    }
  }
  return new Map(sessions.map(({ id }) => [id, id]));
}

/**
 * Finds a session by its id, a unique name, or a unique beginning of its id; running ones go first. Throws
 * `session_not_found`, or `invalid_request` with the candidates.
 */
export function findSession(reference: string, sessions: readonly SessionRecord[]): SessionRecord {
  const exact = sessions.find(({ id }) => id === reference);
  if (exact !== undefined) return exact;
  const named = sessions.filter(({ name }) => name === reference || printable(name) === reference);
  const running = named.filter(({ status }) => status !== "exited");
  const candidates = [running, named, sessions.filter(({ id }) => id.startsWith(reference))];
  const found = reference === "" ? undefined : candidates.find(({ length }) => length > 0);
  const [first, ...others] = found ?? [];
  if (first === undefined)
    throw new ServiceError("session_not_found", `no session ${JSON.stringify(reference)}`);
  if (others.length === 0) return first;
  const list = [first, ...others].slice(0, 5).map(({ id, name }) => `${id} (${printable(name)})`);
  const message = `${JSON.stringify(reference)} could be ${others.length + 1} sessions: ${list.join(", ")}`;
  throw new ServiceError("invalid_request", message);
}

/** For JSON output: without the second names that the API has for old clients. */
export function plainRecord(
  record: SessionRecord,
): Omit<SessionRecord, "sessionId" | "startedAt" | "workingDir"> {
  const { sessionId: _id, startedAt: _created, workingDir: _cwd, ...plain } = record;
  return plain;
}
