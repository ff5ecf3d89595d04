// The sessions of another process, over HTTP and /ws. Subscriptions resume at their offset after a reconnect.

import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { withDeadline } from "../lib/async/deadline.ts";
import { Emitter } from "../lib/async/emitter.ts";
import { KeyedSingleFlight, singleFlight } from "../lib/async/single-flight.ts";
import { succeeded } from "../lib/async/succeeded.ts";
import { outsideTraces } from "../lib/trace.ts";
import { type Caller, createCaller } from "../protocol/client/caller.ts";
import { isFinal, type Link, type LinkHandlers } from "../protocol/client/link.ts";
import type { Send } from "../protocol/client/send.ts";
import { SessionSocket } from "../protocol/client/session-socket.ts";
import { DirectoryWatch } from "../protocol/directory/directory-watch.ts";
import { keyOf, snapshotOf } from "../protocol/directory/session-change.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../protocol/errors.ts";
import { isSessionChange, type ServerEvent, sessionEvent } from "../protocol/frame/event.ts";
import { SubscribeFlag, UPLINK_CLIENT } from "../protocol/frame/payload.ts";
import { MAX_REMOTE_RECORDS } from "../protocol/limits.ts";
import type { SavedFile } from "../protocol/schemas/file.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";
import {
  type Content,
  type NewFile,
  type RemovalCondition,
  type SessionBackend,
  type Sink,
  type Subscription,
  stillRunning,
  type View,
} from "../sessions/backend.ts";
import { followSession } from "./followed-session.ts";
import { createSender, type Sender } from "./send.ts";
import { contentOf, sendFile, VIEW_ENDPOINTS, viewQuery, withoutFiles } from "./session-content.ts";
import { getSession, listSessions, readSessions } from "./specified/session-record.ts";
import { SpecifiedRemote } from "./specified/specified-remote.ts";
import { openLink, type UplinkTarget } from "./uplink.ts";

const { Stdout, Events } = SubscribeFlag;
/** `protocol` is absent in servers that implement only the specification. */
const health = {
  ...endpoints.health,
  reply: { status: 200, json: z.looseObject({ protocol: z.int().optional().catch(undefined) }) },
} as const;

/** Timeout of requests that wait for the uplink to open. */
const LINK_TIMEOUT_MS = 5_000;

type Peer = { readonly target: UplinkTarget; readonly sender: Sender };

export type RemoteSessionsOptions = {
  readonly target: UplinkTarget;
  readonly version: string;
  /** For a process that is not trusted. `onReached`: called once, when the first session is left out. */
  readonly limit?: { readonly maxRecordsLength: number; onReached(): void };
};

export class RemoteSessions implements SessionBackend {
  readonly #caller: Caller;
  readonly #socket: SessionSocket;
  readonly #events = new Emitter<ServerEvent>();
  readonly #directory: DirectoryWatch;
  readonly #searches = new KeyedSingleFlight<SessionRecord>();
  readonly #scope = new DisposableStack();
  /** `undefined`: unreachable until `retarget`. */
  #peer: Peer | undefined;
  #keeping: Disposable | undefined;
  /** Adapts a server that implements only the specification. Detected by the first connection; until then ours is assumed. */
  #kind: SpecifiedRemote | "ours" | undefined;

  constructor({ target, version, limit }: RemoteSessionsOptions) {
    this.#peer = { target, sender: createSender(target) };
    this.#caller = createCaller(this.send);
    this.#socket = new SessionSocket({
      // All requests share the connection, so it belongs to no trace.
      open: (handlers, signal) => outsideTraces(() => this.#open(handlers, signal).catch(passing)),
      clientName: UPLINK_CLIENT,
      version,
    });
    let isLimitReached = false;
    const reached = (): void => {
      if (!isLimitReached) limit?.onReached();
      isLimitReached = true;
    };
    this.#directory = this.#scope.use(
      new DirectoryWatch({
        maxLength: limit?.maxRecordsLength,
        list: async (signal) => {
          const { value, headers } = await this.#caller.reply(listSessions, {}, signal);
          const known = limit === undefined ? value : value.slice(0, MAX_REMOTE_RECORDS);
          if (known.length < value.length) reached();
          return snapshotOf({ value: this.#sized(await readSessions(known, signal)), headers });
        },
        onNews: (news) => {
          if (news.kind === "session-refused") reached();
          // The directory hears of no remotes, see `#heard`.
          if (news.kind === "session-refused" || news.kind === "remote-left") return;
          if (news.kind === "session-removed") this.#specified?.forget(news.record.id);
          this.#events.emit(sessionEvent(news.kind, news.record));
        },
      }),
    );
    this.#scope.use(this.#socket.subscribeGlobal((event) => this.#heard(event)));
    let wasOpen = false;
    this.#scope.use(
      this.#socket.onState(({ kind }) => {
        // Failed reconnects do not cancel a list request in progress.
        if (wasOpen && kind !== "open") this.#directory.lost();
        wasOpen = kind === "open";
      }),
    );
  }

  readonly send: Send = async (request) => await this.#reachable.sender.send(request);

  /** Resolves when the uplink is open; rejects with the reason otherwise. */
  connected(timeoutMs: number): Promise<void> {
    return this.#socket.opened(timeoutMs);
  }

  get isConnected(): boolean {
    return this.#socket.state.kind === "open";
  }

  /**
   * Changes the target; subscriptions resume over a new uplink. With an unchanged target a lost uplink is reopened at once,
   * and an open one is checked. `undefined` closes the uplink: requests throw `host_unreachable` until the next target.
   */
  retarget(target: UplinkTarget | undefined): void {
    if (isDeepStrictEqual(target, this.#peer?.target)) {
      this.#socket.wake();
      return;
    }
    this.#peer?.sender[Symbol.dispose]();
    this.#peer = target && { target, sender: createSender(target) };
    this.#socket.reconnect();
  }

  /** Calls `ensure` whenever the other process is gone: its sessions have ended, new ones must still be possible. */
  keep({ ensure, onFailure }: { ensure: () => Promise<unknown>; onFailure: (error: unknown) => void }): void {
    const restart = singleFlight(() => ensure().then(() => this.#socket.wake(), onFailure));
    this.#keeping = this.#socket.onState(({ kind }) => {
      if (kind === "waiting") void restart();
    });
  }

  /** The other process is not started again from now on. */
  leave(): void {
    this.#keeping?.[Symbol.dispose]();
  }

  async list(): Promise<readonly SessionRecord[]> {
    return this.#sized(await readSessions(await this.#caller.call(listSessions)));
  }

  async get(id: string): Promise<SessionRecord> {
    try {
      const record = await this.#caller.call(getSession, { params: { id } });
      // A share link is made for what this returns.
      if (record.id !== id) throw new ServiceError("session_not_found", `no session ${id}`);
      return this.#specified?.sized(record) ?? record;
    } catch (cause) {
      // Other servers use other codes.
      if (!(cause instanceof ServiceError) || cause.status !== 404) throw cause;
      throw new ServiceError("session_not_found", cause.message, { cause });
    }
  }

  all(): readonly SessionRecord[] {
    return [...this.#directory.records.values()];
  }

  find(id: string): SessionRecord | Promise<SessionRecord> {
    const known = this.#directory.byId(id);
    if (known !== undefined && this.#searches.running(id) === undefined) return known;
    return this.#searches.ask(id, () => this.#search(id));
  }

  /** Whether the other process sends every change of its sessions; else only its list has them. */
  get isWatchable(): boolean {
    return this.#directory.isNumbered;
  }

  async caughtUp(): Promise<void> {
    const catchUp = async (): Promise<void> => {
      // It never sent changes and has no socket now: only its list is left.
      const isListOnly = !this.#directory.isNumbered && !this.isConnected;
      if (isListOnly && (await succeeded(this.#directory.listed()))) return;
      await this.#socket.opened(LINK_TIMEOUT_MS);
      await this.#directory.current();
      await (this.#directory.isNumbered ? this.#socket.caughtUp() : this.#directory.refresh());
    };
    await withDeadline(catchUp(), LINK_TIMEOUT_MS, "the list of sessions");
  }

  async create(request: CreateSession): Promise<SessionRecord> {
    await this.#firstOpened();
    const creating =
      this.#specified?.create(request) ?? this.#caller.call(endpoints.createSession, { body: request });
    const record = await creating;
    await this.#until(() => this.#directory.records.has(keyOf(record)));
    return record;
  }

  async rename(id: string, name: string): Promise<SessionRecord> {
    await this.#caller.call(endpoints.renameSession, { params: { id }, body: { name } });
    await this.#until(() => this.#directory.byId(id)?.name === name);
    return await this.find(id);
  }

  async remove(id: string, condition?: RemovalCondition): Promise<Removal> {
    await this.#firstOpened();
    const before = this.#directory.byId(id);
    const removal =
      condition === "exited" ? await this.#removeEnded(id) : await this.#endOrRemove(id, condition);
    await this.#until(() => {
      const now = before && this.#directory.records.get(keyOf(before));
      return now === undefined || (removal.status === "exited" && now.status === "exited");
    });
    return removal;
  }

  async #endOrRemove(id: string, condition: "running" | undefined): Promise<Removal> {
    if (condition === "running") {
      // Servers of older versions ignore the condition. Lists of servers that send no changes may be old.
      const { status, exitCode } = await (this.isWatchable ? this.find(id) : this.get(id));
      if (status === "exited")
        return { success: true, status, ...(exitCode === undefined ? {} : { exitCode }) };
    }
    const input = { params: { id }, query: { if: condition } };
    return await (this.#specified?.remove(id) ?? this.#caller.call(endpoints.deleteSession, input));
  }

  async #removeEnded(id: string): Promise<Removal> {
    if (this.#specified === undefined) {
      return await this.#caller.call(endpoints.cleanupSession, { params: { id } });
    }
    if ((await this.get(id)).status !== "exited") throw stillRunning(id);
    return await this.#specified.remove(id);
  }

  async write(id: string, input: Uint8Array): Promise<void> {
    await this.#firstOpened();
    await (this.#specified ?? this.#socket).write(id, input);
  }

  async resize(id: string, size: TerminalSize): Promise<void> {
    await this.#firstOpened();
    await (this.#specified ?? this.#socket).resize(id, size);
  }

  async kill(id: string, signal: SignalName): Promise<void> {
    await this.#firstOpened();
    await this.#socket.kill(id, signal);
  }

  async mark(id: string, label: string): Promise<void> {
    await this.#caller.call(endpoints.markSession, { params: { id }, body: { label } });
  }

  async view(id: string, view: View, signal: AbortSignal): Promise<Content> {
    const input = { params: { id }, query: viewQuery(view) };
    return contentOf(await this.#caller.stream(VIEW_ENDPOINTS[view.kind], input, signal));
  }

  async saveFile(id: string, { name, body }: NewFile, signal: AbortSignal): Promise<SavedFile> {
    const send: Send = (request) => this.#reachable.sender.send({ ...request, body });
    return await sendFile(send, { id, name }, signal);
  }

  async openFile(id: string, path: string, signal: AbortSignal): Promise<Content> {
    const input = { params: { id }, query: { path } };
    const answer = await this.#caller.stream(endpoints.downloadFile, input, signal).catch(withoutFiles);
    return contentOf(answer);
  }

  async subscribe(id: string, sink: Sink, flags = Stdout | Events): Promise<Subscription> {
    const record = await this.find(id);
    // Nothing opens an uplink without a target, and all further frames of the client would wait.
    if (this.#peer === undefined) throw hasLeft();
    // The session host is started again when it has ended. A machine that does not answer delays no other machine's frames.
    const isPatient = "socketPath" in this.#peer.target;
    if (!isPatient && this.isConnected) this.#socket.wake();
    await this.#socket.opened(LINK_TIMEOUT_MS, { isPatient });
    const events = this.#afterRecord(record, sink);
    const subscription = await followSession(this.#socket, record, flags, { sink, events });
    return this.#specified === undefined ? subscription : { ...subscription, isUnrecorded: true };
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  /** Only the directory, which is limited, reports records: those that left with a remote one by one, after a list. */
  #heard({ record, ...event }: ServerEvent): void {
    const { type, timestamp } = event;
    const isChange = type === "connected" || isSessionChange(event);
    if (type === "remote-left") this.#directory.heard({ type, timestamp });
    else if (isChange) this.#directory.heard({ ...event, ...(record && { record }) });
    else this.#events.emit(event);
  }

  async #search(id: string): Promise<SessionRecord> {
    await this.caughtUp();
    const record = this.#directory.byId(id);
    if (record === undefined) throw new ServiceError("session_not_found", `no session ${id}`);
    return record;
  }

  /** The list shows the effect of a request that was answered: its event comes on another connection. */
  async #until(isKnown: () => boolean): Promise<void> {
    if (!isKnown()) await succeeded(this.caughtUp());
  }

  /** Delays the exit until the record shows it. */
  #afterRecord(record: SessionRecord, sink: Sink): Sink {
    const key = keyOf(record);
    return (delivery) => {
      const isExit = delivery.kind === "event" && delivery.event.kind === "exit";
      const known = isExit ? this.#directory.records.get(key) : undefined;
      if (known === undefined || known.status === "exited") sink(delivery);
      else void succeeded(this.caughtUp()).then(() => sink(delivery));
    };
  }

  get #reachable(): Peer {
    if (this.#peer === undefined) throw hasLeft();
    return this.#peer;
  }

  #sized(records: readonly SessionRecord[]): readonly SessionRecord[] {
    const specified = this.#specified;
    return specified === undefined ? records : records.map((record) => specified.sized(record));
  }

  get #specified(): SpecifiedRemote | undefined {
    return this.#kind === "ours" ? undefined : this.#kind;
  }

  /** Commands wait for the first connection, which shows the kind of server. After a disconnect they are refused. */
  async #firstOpened(): Promise<void> {
    if (this.#kind === undefined) await this.#socket.opened(LINK_TIMEOUT_MS);
  }

  async #open(handlers: LinkHandlers, signal: AbortSignal): Promise<Link> {
    const { target } = this.#reachable;
    const kind = this.#kind ?? (await this.#detect(target, signal));
    const open = (own: LinkHandlers): Promise<Link> => openLink(target, own, signal);
    const link = await (kind === "ours" ? open(handlers) : kind.open(open, handlers));
    this.#kind = kind;
    return link;
  }

  /** A unix socket is always that of our session host. */
  async #detect(target: UplinkTarget, signal: AbortSignal): Promise<SpecifiedRemote | "ours"> {
    if ("socketPath" in target) return "ours";
    const { protocol } = await this.#caller.call(health, {}, signal);
    if (protocol !== undefined) return "ours";
    return new SpecifiedRemote({ caller: this.#caller, socket: this.#socket, sessions: this });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.leave();
    this.#scope.dispose();
    this.#socket[Symbol.dispose]();
    this.#peer?.sender[Symbol.dispose]();
  }
}

function hasLeft(): ServiceError {
  return new ServiceError("host_unreachable", "it has left");
}

/** A refusal may be temporary: a restarted process may not have announced its new tokens yet. So retries continue. */
function passing(error: unknown): never {
  if (!(error instanceof ServiceError) || !isFinal(error)) throw error;
  throw new ServiceError("host_unreachable", error.message, { cause: error });
}
