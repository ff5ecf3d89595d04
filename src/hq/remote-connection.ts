// The HQ's link to one remote, or to its own sessions: their records, labelled with the remote.

import { isTimeout } from "../lib/async/deadline.ts";
import { keyOf } from "../protocol/directory/session-change.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import { DIALLED_URL } from "../protocol/schemas/remote.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { RemoteSessions } from "../remote/remote-sessions.ts";
import type { TunnelConnect } from "../remote/tunnel.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import type { SessionBackend, Subscription } from "../sessions/backend.ts";
import type { Remote } from "./remote-state.ts";

/** The sessions of another server, whose address and token may change. */
export type RemoteSessionBackend = SessionBackend &
  Pick<RemoteSessions, "isConnected" | "send" | "retarget" | "isWatchable" | "caughtUp">;

/** `ca` is trusted besides Node's roots. `connect`: through the tunnels of remotes that dial. */
export type RemoteNetwork = { readonly ca: Uint8Array | undefined; readonly connect: TunnelConnect };

/** How a remote is reached, over http(s) or its tunnel, with the bearer token that it registered. */
export function remoteTarget(
  { id, url, token }: Pick<Remote, "id" | "url" | "token">,
  { ca, connect }: RemoteNetwork,
): UplinkTarget {
  return {
    ...{ url, headers: { authorization: `Bearer ${token}` } },
    ...(ca === undefined ? {} : { ca }),
    ...(url === DIALLED_URL ? { tunnel: { remoteId: id, connect } } : {}),
  };
}

/** The part of a remote that its sessions are labelled with, or placed by. */
export type RemoteLabel = Pick<Remote, "id" | "name" | "cordoned" | "labels"> & { readonly url?: string };

export class RemoteConnection<Backend extends SessionBackend = SessionBackend> implements AsyncDisposable {
  readonly sessions: Backend;
  /** Subscriptions to its sessions. */
  readonly viewers = new Set<Subscription>();
  /** Number of sessions that are being created. */
  starting = 0;
  /** When a conflict of its session ids was logged last. Monotonic. */
  conflictLoggedMs = Number.NEGATIVE_INFINITY;
  /** Registered. Sessions of an unlisted remote are kept for their viewers only. */
  isListed = true;
  readonly #onEvent: (remote: RemoteConnection, event: ServerEvent) => void;
  readonly #watching: Disposable;
  readonly #records = new Map<string, SessionRecord>();
  /** By public id, labelled with the remote. */
  readonly records: ReadonlyMap<string, SessionRecord> = this.#records;
  #label: RemoteLabel;

  /** `onEvent`: called with each event, after `records` was updated. */
  constructor(
    label: RemoteLabel,
    sessions: Backend,
    onEvent: (remote: RemoteConnection, event: ServerEvent) => void,
  ) {
    this.#label = label;
    this.sessions = sessions;
    this.#onEvent = onEvent;
    this.#watching = sessions.watch((event) => this.#heard(event));
    for (const record of sessions.all()) this.#records.set(record.id, this.labelled(record));
  }

  get label(): RemoteLabel {
    return this.#label;
  }

  /** Sets the id, name and address of the same remote. Returns whether they have changed. */
  relabel(label: RemoteLabel): boolean {
    const { id, name, url } = this.#label;
    this.#label = label;
    if (id === label.id && name === label.name && url === label.url) return false;
    for (const [sessionId, record] of this.#records) this.#records.set(sessionId, this.labelled(record));
    return true;
  }

  /** Does work on its sessions; errors as with the function `reach`. */
  reach<T>(work: (sessions: Backend) => Promise<T>): Promise<T> {
    return reach(this.#label, () => work(this.sessions));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching[Symbol.dispose]();
    await this.sessions[Symbol.asyncDispose]();
  }

  #heard(event: ServerEvent): void {
    const { type, sessionId = "", key } = event;
    const known = this.#records.get(sessionId);
    const record = event.record && this.labelled(event.record);
    if (record !== undefined) this.#records.set(sessionId, record);
    else if (type === "session-removed" && known !== undefined && keyOf(known) === key)
      this.#records.delete(sessionId);
    this.#onEvent(this, { ...event, ...(record && { record }), remoteName: this.#label.name });
  }

  labelled(record: SessionRecord): SessionRecord {
    const { name, id, url } = this.#label;
    const labels = { source: name, remoteId: id, remoteName: name };
    return { ...record, ...labels, ...(url === undefined ? {} : { remoteUrl: url }) };
  }
}

/**
 * Does work that needs a remote, and names the remote in the error if it cannot be reached: `remote_unreachable`, or
 * `remote_timeout` if it is late. Errors of the remote itself pass through (contract 6.5).
 */
export async function reach<T>({ name }: Pick<RemoteLabel, "name">, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isTimeout(error)) throw new ServiceError("remote_timeout", late(name), { cause: error });
    if (!(error instanceof ServiceError)) throw error;
    // The remote has restarted and not yet registered its new token. Logging in again would not help the client, whose page
    // would end its login here.
    if (error.status === 401) {
      const message = `remote ${name} has not registered its new token yet`;
      throw new ServiceError("remote_unreachable", message, { cause: error });
    }
    if (error.code !== "host_unreachable") throw error;
    const isLate = isTimeout(error.cause);
    throw new ServiceError(
      isLate ? "remote_timeout" : "remote_unreachable",
      `${isLate ? late(name) : `remote ${name} is unreachable`}: ${error.message}`,
      { cause: error },
    );
  }
}

function late(name: string): string {
  return `remote ${name} does not answer in time`;
}
