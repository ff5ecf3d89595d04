// The HQ's link to one remote, or to its own sessions: the sessions that are known there, labelled with whose they are.

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

/** The sessions of another server, which may come back at another address and with another token: RemoteSessions. */
export type RemoteSessionBackend = SessionBackend & {
  readonly isConnected: boolean;
  /** Any request to that server. */
  readonly send: Send;
  /** Where it answers from now on; `undefined`: it has left, and nothing is sent to it. */
  retarget(target: UplinkTarget | undefined): void;
  /** Whether it tells every change of its sessions; else they are known from its list alone. */
  readonly isWatchable: boolean;
  /** Resolves when all that has happened to its sessions by now is known. */
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

  /** The same remote, perhaps with another id or address. */
  set label(label: RemoteLabel) {
    const { id, url } = this.#label;
    this.#label = label;
    if (id === label.id && url === label.url) return;
    for (const [sessionId, record] of this.#records) this.#records.set(sessionId, this.#labelled(record));
  }

  /** By public id, with whose they are. */
  get records(): ReadonlyMap<string, SessionRecord> {
    return this.#records;
  }

  /** Of how many of them the program runs; counted once for each change. */
  get running(): number {
    this.#running ??= [...this.#records.values()].filter(({ status }) => status === "running").length;
    return this.#running;
  }

  /** Whether somebody follows one of its sessions. */
  get isWatched(): boolean {
    return this.#subscriptions > 0;
  }

  /** Hears of its events once `records` has what they tell. */
  onEvent(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  /** The answer to a question about a session, with whose it is. */
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
 * Does something that needs a machine. One that is out of reach is named: `remote_unreachable`, or `remote_timeout`
 * when it is late, be it by a deadline around `work`; the machine's own errors pass through (contract 6.5).
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

/** It was started again and has not told its new token yet: nothing that the client could mend by logging in. */
function unacquainted(name: string, cause: unknown): ServiceError {
  return new ServiceError("remote_unreachable", `remote ${name} does not know this HQ yet`, { cause });
}
