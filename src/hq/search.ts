import { isTimeout, withDeadline } from "../lib/async/deadline.ts";
import { KeyedSingleFlight } from "../lib/async/single-flight.ts";
import { ServiceError } from "../protocol/errors.ts";
import { SESSION_SEARCH_TIMEOUT_MS } from "../protocol/limits.ts";
import type { Ownership } from "./ownership.ts";
import type { Registry } from "./registry/registry.ts";
import type { RemoteConnection } from "./remote-connection.ts";
import { reach } from "./remote-connection.ts";

/**
 * Finds whose session an id means. One whose owner is not known yet is looked for on all machines, once for all who
 * want it: they go on in the order in which they came.
 */
export class Search {
  readonly #remotes: () => readonly RemoteConnection[];
  readonly #owners: Ownership<RemoteConnection>;
  readonly #down: () => Registry["down"];
  readonly #departedRemote: (sessionId: string) => string | undefined;
  readonly #searches = new KeyedSingleFlight<RemoteConnection>();

  constructor(options: {
    remotes: () => readonly RemoteConnection[];
    owners: Ownership<RemoteConnection>;
    /** Remotes that may come back in a moment. */
    down: () => Registry["down"];
    /** The remote that left with that session and may come back with it in a moment. */
    departedRemote: (sessionId: string) => string | undefined;
  }) {
    this.#remotes = options.remotes;
    this.#owners = options.owners;
    this.#down = options.down;
    this.#departedRemote = options.departedRemote;
  }

  /**
   * The owner, at once where it is known. Rejects with `session_not_found` when all say that they have no such session;
   * as long as one of them cannot be asked, one fell silent lately, or one has left with the session, nobody knows:
   * `remote_unreachable`, `remote_timeout`.
   */
  ownerOf(sessionId: string): RemoteConnection | Promise<RemoteConnection> {
    const owner = this.#owners.of(sessionId);
    if (owner !== undefined && this.#searches.running(sessionId) === undefined) return owner;
    return this.#searches.ask(sessionId, () => this.#find(sessionId));
  }

  async #find(sessionId: string): Promise<RemoteConnection> {
    try {
      await Promise.any(this.#remotes().map((remote) => ask(remote, sessionId)));
    } catch (cause) {
      throw reasons(cause).find(({ code }) => code !== "session_not_found") ?? this.#missing(sessionId);
    }
    // Two that have it may answer side by side: the first one to be noted is the owner.
    const owner = this.#owners.of(sessionId);
    if (owner === undefined) throw this.#missing(sessionId);
    return owner;
  }

  /** No machine that is here has it. */
  #missing(sessionId: string): ServiceError {
    const departed = this.#departedRemote(sessionId);
    const down = this.#down();
    const latest = down.at(-1);
    if (latest === undefined && departed !== undefined) {
      return new ServiceError(
        "remote_unreachable",
        `remote ${departed} left a moment ago with session ${sessionId}: try again when it is back`,
      );
    }
    if (latest === undefined) {
      return new ServiceError("session_not_found", `no session ${sessionId} on any machine`);
    }
    const others = down.length === 1 ? "" : `, as ${down.length - 1} others did,`;
    const ago = `fell silent ${Math.round(latest.forMs / 1000)} s ago`;
    return new ServiceError(
      "remote_unreachable",
      `remote ${latest.name} ${ago}${others} and may have session ${sessionId}: try again in a moment`,
    );
  }
}

async function ask(remote: RemoteConnection, sessionId: string): Promise<void> {
  const asked = reach(remote.label, async () => remote.sessions.find(sessionId));
  try {
    await withDeadline(asked, SESSION_SEARCH_TIMEOUT_MS, "the search for a session");
  } catch (cause) {
    if (!isTimeout(cause)) throw cause;
    throw new ServiceError(
      "remote_timeout",
      `remote ${remote.label.name} does not say whether it has session ${sessionId}`,
      { cause },
    );
  }
}

function reasons(cause: unknown): readonly ServiceError[] {
  const errors: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
  return errors.filter((error) => error instanceof ServiceError);
}
