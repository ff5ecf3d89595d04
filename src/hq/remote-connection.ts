// The HQ's link to one remote, or to its own sessions: their records, labelled with the remote.

import { isTimeout } from "../lib/async/deadline.ts";
import { Emitter } from "../lib/async/emitter.ts";
import type { Send } from "../protocol/client/send.ts";
import { keyOf } from "../protocol/directory/session-change.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import type { SessionBackend, Sink, Subscription } from "../sessions/backend.ts";
import type { Remote } from "./remote-state.ts";

/** The sessions of another server, whose address and token may change: RemoteSessions. */
export type RemoteSessionBackend = SessionBackend & {
  readonly isConnected: boolean;
  /** Sends any request to that server. */
  readonly send: Send;
  /** Whether the server has an address: it is registered. */
  readonly hasTarget: boolean;
  /** Sets the server's address. `undefined`: the server has left, and nothing is sent to it. */
  retarget(target: UplinkTarget | undefined): void;
  /** Whether the server reports every change of its sessions; otherwise only its list does. */
  readonly isWatchable: boolean;
  /** Resolves when all changes of its sessions up to now are known. */
  caughtUp(): Promise<void>;
};

/** How a remote is reached: over http(s), with the bearer token that it registered. `ca` is trusted besides Node's roots. */
export function remoteTarget(
  { url, token }: Pick<Remote, "url" | "token">,
  ca: Uint8Array | undefined,
): UplinkTarget {
  return { url, headers: { authorization: `Bearer ${token}` }, ...(ca === undefined ? {} : { ca }) };
}

/** The part of a remote that its sessions are labelled with. */
export type RemoteLabel = Pick<Remote, "id" | "name"> & { readonly url?: string };

export class RemoteConnection<Backend extends SessionBackend = SessionBackend> implements AsyncDisposable {
  readonly sessions: Backend;
  readonly #events = new Emitter<ServerEvent>();
  readonly #watching: Disposable;
  /** By public id. */
  readonly #records = new Map<string, SessionRecord>();
  #label: RemoteLabel;
  #running: number | undefined;
  #subscriptions = 0;

  constructor(label: RemoteLabel, sessions: Backend) {
    this.#label = label;
    this.sessions = sessions;
    this.#watching = sessions.watch((event) => this.#heard(event));
    for (const record of sessions.all()) this.#records.set(record.id, this.#labelled(record));
  }

  get label(): RemoteLabel {
    return this.#label;
  }

  /** Sets the id and address of the same remote. */
  set label(label: RemoteLabel) {
    const { id, url } = this.#label;
    this.#label = label;
    if (id === label.id && url === label.url) return;
    for (const [sessionId, record] of this.#records) this.#records.set(sessionId, this.#labelled(record));
  }

  /** By public id, labelled with the remote. */
  get records(): ReadonlyMap<string, SessionRecord> {
    return this.#records;
  }

  /** Number of sessions whose program runs; counted once after each change. */
  get running(): number {
    this.#running ??= [...this.#records.values()].filter(({ status }) => status === "running").length;
    return this.#running;
  }

  /** Whether one of its sessions has a viewer. */
  get isWatched(): boolean {
    return this.#subscriptions > 0;
  }

  /** Called with each event, after `records` was updated. */
  onEvent(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  /** Labels the record that the question returns. */
  async ask(question: (sessions: SessionBackend) => Promise<SessionRecord>): Promise<SessionRecord> {
    return this.#labelled(await question(this.sessions));
  }

  async subscribe(sessionId: string, sink: Sink, flags?: number): Promise<Subscription> {
    const { record, ...subscription } = await this.sessions.subscribe(sessionId, sink, flags);
    this.#subscriptions += 1;
    let isOver = false;
    return {
      ...subscription,
      record: this.#labelled(record),
      [Symbol.dispose]: () => {
        if (!isOver) this.#subscriptions -= 1;
        isOver = true;
        subscription[Symbol.dispose]();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching[Symbol.dispose]();
    await this.sessions[Symbol.asyncDispose]();
  }

  #heard(event: ServerEvent): void {
    const { type, sessionId = "", key } = event;
    const known = this.#records.get(sessionId);
    const record = event.record && this.#labelled(event.record);
    if (record !== undefined) this.#records.set(sessionId, record);
    else if (type === "session-removed" && known !== undefined && keyOf(known) === key)
      this.#records.delete(sessionId);
    this.#running = undefined;
    this.#events.emit({ ...event, ...(record && { record }), remoteName: this.#label.name });
  }

  #labelled(record: SessionRecord): SessionRecord {
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
    if (error.code === "unauthorized") throw unacquainted(name, error);
    if (error.code !== "host_unreachable") throw error;
    const isLate = isTimeout(error.cause);
    throw new ServiceError(
      isLate ? "remote_timeout" : "remote_unreachable",
      `${isLate ? late(name) : `remote ${name} is out of reach`}: ${error.message}`,
      { cause: error },
    );
  }
}

function late(name: string): string {
  return `remote ${name} does not answer in time`;
}

/** The remote has restarted and not yet registered its new token. Logging in again would not help the client. */
function unacquainted(name: string, cause: unknown): ServiceError {
  return new ServiceError("remote_unreachable", `remote ${name} does not know this HQ yet`, { cause });
}
