import { ServiceError } from "../protocol/errors.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import { printable } from "./text.ts";

/**
 * The session that a person means: by its whole id, by a name that only one has, or by the beginning of an id where no
 * other begins so. Running sessions go before ended ones of the same name. Throws `session_not_found`, or
 * `invalid_request` with the candidates where it could be several.
 */
export function findSession(reference: string, sessions: readonly SessionRecord[]): SessionRecord {
  const exact = sessions.find(({ id }) => id === reference);
  if (exact !== undefined) return exact;
  const named = sessions.filter(({ name }) => name === reference);
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
