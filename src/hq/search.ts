import { isTimeout, withDeadline } from "../lib/async/deadline.ts";
import { KeyedSingleFlight } from "../lib/async/single-flight.ts";
import { ServiceError } from "../protocol/errors.ts";
import { SESSION_SEARCH_TIMEOUT_MS } from "../protocol/limits.ts";
import type { Registry } from "./registry/registry.ts";
import type { RemoteConnection } from "./remote-connection.ts";
import type { SessionIndex } from "./session-index.ts";

export type SearchOptions = {
  readonly remotes: () => readonly RemoteConnection[];
  readonly index: Pick<SessionIndex<RemoteConnection>, "ownerOf">;
  readonly registry: Pick<Registry, "down">;
  /** The remote that left with that session and may return with it in a moment. */
  readonly departedRemote: (sessionId: string) => string | undefined;
};

/**
 * Finds the owner of a session. If it is not known, all remotes are asked, once for all concurrent callers, who continue
 * in the order of their calls.
 */
export class Search {
  readonly #options: SearchOptions;
  readonly #searches = new KeyedSingleFlight<RemoteConnection>();

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /**
   * Returns the owner synchronously if it is known. Rejects with `session_not_found` if no remote has the session. Rejects
   * with `remote_unreachable` or `remote_timeout` if that is uncertain: a remote cannot be asked, went down lately, or has
   * left with the session.
   */
  ownerOf(sessionId: string): RemoteConnection | Promise<RemoteConnection> {
    const owner = this.#options.index.ownerOf(sessionId);
    if (owner !== undefined && this.#searches.running(sessionId) === undefined) return owner;
    return this.#searches.ask(sessionId, () => this.#find(sessionId));
  }

  async #find(sessionId: string): Promise<RemoteConnection> {
    const { remotes, index } = this.#options;
    try {
      await Promise.any(remotes().map((remote) => ask(remote, sessionId)));
    } catch (cause) {
      throw reasons(cause).find(({ code }) => code !== "session_not_found") ?? this.#missing(sessionId);
    }
    // If two remotes have the session, the one whose record arrived first is the owner.
    const owner = index.ownerOf(sessionId);
    if (owner === undefined) throw this.#missing(sessionId);
    return owner;
  }

  #missing(sessionId: string): ServiceError {
    const { departedRemote, registry } = this.#options;
    const departed = departedRemote(sessionId);
    // These may come back in a moment.
    const { down } = registry;
    const latest = down.at(-1);
    if (latest === undefined && departed === undefined)
      return new ServiceError("session_not_found", `no session ${sessionId}`);
    if (latest === undefined) {
      const message = `remote ${departed} left a moment ago with session ${sessionId}: try again when it is back`;
      return new ServiceError("remote_unreachable", message);
    }
    const others = down.length === 1 ? "" : ` (as did ${down.length - 1} others)`;
    const ago = `stopped answering ${Math.round(latest.forMs / 1000)} s ago`;
    const message = `remote ${latest.name} ${ago}${others} and may have session ${sessionId}: try again in a moment`;
    return new ServiceError("remote_unreachable", message);
  }
}

async function ask(remote: RemoteConnection, sessionId: string): Promise<void> {
  const asked = remote.reach(async (sessions) => sessions.find(sessionId));
  try {
    await withDeadline(asked, SESSION_SEARCH_TIMEOUT_MS, "the search for a session");
  } catch (cause) {
    if (!isTimeout(cause)) throw cause;
    const message = `remote ${remote.label.name} did not answer in time whether it has session ${sessionId}`;
    throw new ServiceError("remote_timeout", message, { cause });
  }
}

function reasons(cause: unknown): readonly ServiceError[] {
  const errors: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
  return errors.filter((error) => error instanceof ServiceError);
}
