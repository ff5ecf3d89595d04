// One client's connection. Its frames are handled strictly in order; frames are sent as fast as it reads them.
import type { SourcePosition } from "../../protocol/directory/session-change.ts";
import { errorBody, ServiceError } from "../../protocol/errors.ts";
import type { ServerEvent } from "../../protocol/frame/event.ts";
import {
  decodeFrame,
  encodeFrame,
  type Frame,
  FrameType,
  isMalformed,
  type Magic,
} from "../../protocol/frame/frame.ts";
import {
  ClientFlag,
  type ClientHello,
  decodeHello,
  decodeSubscribe,
  encodeJson,
  type FailedRequest,
  type GoAway,
  type Subscribe,
  SubscribeFlag,
  UPLINK_CLIENT,
} from "../../protocol/frame/payload.ts";
import { FEED_WINDOW_BYTES, MAX_BAD_FRAMES, MAX_SUBSCRIPTIONS } from "../../protocol/limits.ts";
import type { SessionViewer } from "../../protocol/schemas/viewer.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed } from "../feed.ts";
import { Outbox, type Peer } from "../outbox.ts";
import {
  ClientRequests,
  checkSessionId,
  failedRequest,
  readCommand,
  throttledAuditHook,
} from "../requests.ts";
import type { Traffic } from "../traffic.ts";
import type { HubView, ViewerIdentity } from "./hub-view.ts";
import { Subscription, type SubscriptionHost } from "./subscription.ts";

/** The parts of the hub that its viewers use. */
export type ViewerHub = {
  readonly traffic: Traffic;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** The position before the changes that a client is told from now on. */
  readonly position: SourcePosition;
  /** Called with the cause of each internal error; the client is only told that there was one. */
  readonly onFailure: (error: unknown) => void;
  /** `sessions`: those that the client may see. `flags`: those of the first subscription. */
  openFeed(sessions: SessionBackend, sessionId: string, flags: number): Promise<Feed>;
  closeFeed(feed: Feed): void;
  /** The frame of an event, shared by all who are told it: a record may have a megabyte. */
  eventFrame(event: ServerEvent, magic: Magic): Uint8Array;
  /** The viewer is disposed of. */
  left(viewer: Viewer): void;
  /** `tell`: the client asks who watches the session. */
  readonly presence: { tell(viewer: Viewer, sessionId: string): void };
};

type Answered = { readonly frame: number; readonly request?: FailedRequest | undefined };

export class Viewer implements SubscriptionHost, Disposable {
  readonly outbox: Outbox;
  readonly now: () => number;
  readonly view: HubView;
  readonly identity: ViewerIdentity;
  readonly #peer: Peer;
  readonly #hub: ViewerHub;
  readonly #audit: ReturnType<typeof throttledAuditHook> | undefined;
  readonly #requests: ClientRequests;
  readonly #subscriptions = new Map<string, Subscription>();
  #isClosed = false;
  #isWelcomed = false;
  #isGlobal = false;
  #hello: ClientHello | undefined;
  /** Pings since the last message of the client: unlike time they do not go by while the server itself stands still. */
  #unanswered = 0;
  #hasMagic = false;
  #badInARow = 0;
  #messages = 0;

  constructor(peer: Peer, identity: ViewerIdentity, view: HubView, hub: ViewerHub) {
    const { now, traffic } = hub;
    this.identity = identity;
    this.#peer = peer;
    this.view = view;
    this.#hub = hub;
    this.#audit = view.auditHook && throttledAuditHook(view.auditHook, now);
    this.now = now;
    this.#requests = new ClientRequests(peer);
    const onSent = (): void => this.#requests.crowded(this.outbox.isCrowded);
    this.outbox = new Outbox({ peer, now, traffic, onSent });
  }

  get hello(): ClientHello | undefined {
    return this.#hello;
  }

  get isUplink(): boolean {
    return this.#hello?.client === UPLINK_CLIENT;
  }

  /** All subscriptions of a client together may hold one window (contract 1.11). */
  get windowBytes(): number {
    return FEED_WINDOW_BYTES / this.#subscriptions.size;
  }

  /** Bytes that the client requested and that have not left this process. */
  get lagBytes(): number {
    let bytes = this.outbox.bytes;
    for (const subscription of this.#subscriptions.values()) bytes += subscription.lagBytes;
    return bytes;
  }

  /** The client watches the events of all sessions. */
  get isGlobal(): boolean {
    return this.#isGlobal;
  }

  get sessionIds(): string[] {
    return [...this.#subscriptions.keys()];
  }

  watches(sessionId: string): boolean {
    return this.#subscriptions.has(sessionId);
  }

  /** The sessions about whose viewers the client asks. */
  get presenceIds(): readonly string[] {
    return this.sessionIds.filter((id) => this.#subscriptions.get(id)?.has(ClientFlag.Viewers));
  }

  get mayType(): boolean {
    return this.view.refusals?.get(FrameType.INPUT_TEXT) === undefined;
  }

  typedAtMs(sessionId: string): number {
    return this.#subscriptions.get(sessionId)?.typedAtMs ?? Number.NEGATIVE_INFINITY;
  }

  tellViewers(sessionId: string, viewers: readonly SessionViewer[]): void {
    this.#send(FrameType.EVENT, sessionId, encodeJson({ kind: "viewers", viewers }));
  }

  /**
   * Sends the first frame, once, when the client knows that its socket is open. It is sent in both byte orders, because the
   * client's own is not known before it sends something. Clients ignore the other one.
   */
  welcome(): void {
    if (this.#isWelcomed || this.#isClosed) return;
    this.#isWelcomed = true;
    const payload = encodeJson({ ok: true, version: 3 });
    for (const magic of ["VT", "TV"] as const)
      this.outbox.answer(encodeFrame(FrameType.WELCOME, "", payload, magic));
  }

  receive(message: Uint8Array): void {
    // A copy, because requests may outlive their message. Not slice, which is a view of a Buffer.
    const own = new Uint8Array(message);
    this.#receive(own.length, (number) => this.#handle(own, number));
  }

  /** Refuses a text message, which this protocol does not have. */
  receiveText(): void {
    const error = new ServiceError("binary_only", "this socket takes binary frames alone");
    this.#receive(0, (number) => this.#noFrame(error, number));
  }

  /** The client gave a sign of life. */
  heard(): void {
    this.#unanswered = 0;
  }

  /** To be called every PING_INTERVAL_MS: disconnects a client that was silent for two intervals (contract 1.9). */
  keepAlive(): void {
    if (this.#unanswered < 2) {
      this.#unanswered += 1;
      this.#peer.ping();
      return;
    }
    this.#hub.traffic.droppedSilent += 1;
    this.#peer.terminate();
  }

  notify(event: ServerEvent): void {
    if (this.#isGlobal) this.#answer(this.#hub.eventFrame(event, this.outbox.magic));
  }

  /** Sends an event about several sessions to a client that watches all sessions or one of these. */
  tell(event: ServerEvent, isSeen: boolean): void {
    const sessionId = event.sessionIds?.find((id) => this.#subscriptions.get(id)?.hasEvents);
    if (this.#isGlobal && isSeen) this.notify(event);
    else if (sessionId !== undefined)
      this.#send(FrameType.EVENT, sessionId, encodeJson({ ...event, sessionId }));
  }

  /** Asks the client to reconnect; false if it sent no HELLO, and therefore does not know the frame. */
  goAway(notice: GoAway): boolean {
    const isKnown = this.#hello !== undefined;
    if (isKnown) this.#send(FrameType.GOAWAY, "", encodeJson(notice));
    return isKnown;
  }

  /** `code` is one of the WebSocket protocol. */
  close(code: number, reason: string): void {
    this.#peer.close(code, reason);
  }

  redrawn(): void {
    this.#hub.traffic.resyncs += 1;
  }

  lost({ feed: { sessionId, loss } }: Subscription): void {
    this.#unsubscribe(sessionId);
    this.failed(sessionId, loss);
  }

  [Symbol.dispose](): void {
    this.#stop();
    this.#hub.left(this);
  }

  #stop(): void {
    this.#isClosed = true;
    this.#requests.close();
    for (const sessionId of this.sessionIds) this.#unsubscribe(sessionId);
  }

  /** Ignores everything that the client sends from now on, however long it takes to close its side. */
  #refuse(): void {
    this.#stop();
    this.#hub.traffic.droppedBad += 1;
    this.#peer.close(1002, "too many bad frames");
  }

  #receive(bytes: number, handle: (number: number) => Promise<void> | undefined): void {
    if (this.#isClosed) return;
    this.welcome();
    this.heard();
    this.#messages += 1;
    const number = this.#messages;
    this.#requests.receive({ bytes, handle: () => handle(number) });
  }

  /** The next message waits for the returned promise, so that frames are handled in order (contract 1.10). */
  #handle(message: Uint8Array, number: number): Promise<void> | undefined {
    const { traffic } = this.#hub;
    traffic.framesIn += 1;
    traffic.bytesIn += message.length;
    try {
      const frame = decodeFrame(message);
      if (!this.#hasMagic) this.outbox.magic = frame.magic;
      this.#hasMagic = true;
      this.#badInARow = 0;
      return this.#handleFrame(frame, number);
    } catch (error) {
      if (!isMalformed(error)) throw error;
      traffic.badFrames += 1;
      this.#badInARow += 1;
      return this.#noFrame(error, number);
    }
  }

  #noFrame(error: ServiceError, number: number): undefined {
    const isLast = this.#badInARow >= MAX_BAD_FRAMES;
    this.#requests.answer(() => {
      this.failed("", error, { frame: number });
      if (isLast) this.#refuse();
    });
  }

  #handleFrame(frame: Frame, number: number): Promise<void> | undefined {
    const { sessionId, type, payload } = frame;
    const failed = (error: unknown): void =>
      this.failed(sessionId, error, { frame: number, request: failedRequest(type) });
    try {
      if (type === FrameType.HELLO) this.#hello = decodeHello(payload);
      else if (type === FrameType.PING) this.#requests.answer(() => this.#send(FrameType.PONG, "", payload));
      else if (type === FrameType.SUBSCRIBE) {
        const request = decodeSubscribe(payload);
        if (sessionId !== "") return this.#subscribe(sessionId, request).catch(failed);
        this.#demand(type);
        this.#subscribeGlobal(request);
      } else if (type === FrameType.UNSUBSCRIBE) {
        this.#demand(type);
        if (sessionId === "") this.#isGlobal = false;
        else this.#unsubscribe(sessionId);
      } else this.#requests.follow(this.#perform(frame), failed);
    } catch (error) {
      this.#requests.answer(() => failed(error));
    }
    return undefined;
  }

  /** Throws for an invalid command; rejects if it fails. */
  #perform(frame: Frame): Promise<void> {
    const { sessionId, type } = frame;
    const { action, perform } = readCommand(frame);
    checkSessionId(sessionId);
    const subscription = this.#subscriptions.get(sessionId);
    if (subscription !== undefined && action?.kind === "type" && this.mayType)
      subscription.typedAtMs = this.now();
    const work = this.#permitted(type, () => perform(this.view.sessions));
    if (action !== undefined) this.#audit?.(action, work);
    return work;
  }

  /** Throws `forbidden` if the client may not send frames of that type. */
  #demand(type: number): void {
    const refusal = this.view.refusals?.get(type);
    if (refusal !== undefined) throw new ServiceError("forbidden", refusal);
  }

  /** Begins the work at once, or rejects with `forbidden`. */
  async #permitted<T>(type: number, work: () => Promise<T>): Promise<T> {
    this.#demand(type);
    return await work();
  }

  /** Answers once the feed delivers what is requested. If that fails, a new subscription is removed. */
  async #subscribe(sessionId: string, request: Subscribe): Promise<void> {
    checkSessionId(sessionId);
    const former = this.#subscriptions.get(sessionId);
    const subscription = former ?? (await this.#open(sessionId, request.flags));
    const { feed } = subscription;
    try {
      await feed.want(subscription, request.flags);
      const known = await this.#known(feed, request);
      // The client or the session may have gone meanwhile.
      if (this.#isClosed) return;
      if (feed.loss !== undefined) throw feed.loss;
      const answer = subscription.apply(request, known);
      if (answer !== undefined) this.#send(FrameType.SUBSCRIBED, sessionId, encodeJson(answer));
    } catch (error) {
      if (former === undefined) this.#unsubscribe(sessionId);
      throw error;
    }
    this.outbox.ready(subscription);
    if (subscription.has(ClientFlag.Viewers)) this.#hub.presence.tell(this, sessionId);
  }

  async #open(sessionId: string, flags: number): Promise<Subscription> {
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
      throw new ServiceError(
        "too_many_subscriptions",
        `one connection holds at most ${MAX_SUBSCRIPTIONS} subscriptions`,
      );
    }
    const { sessions } = this.view;
    const open = (): Promise<Feed> => this.#hub.openFeed(sessions, sessionId, flags);
    const opening = this.#permitted(FrameType.SUBSCRIBE, open);
    this.#audit?.({ kind: "subscribe", sessionId }, opening);
    const feed = await opening;
    const subscription = new Subscription(feed, this);
    this.#subscriptions.set(sessionId, subscription);
    if (this.#isClosed) this.#unsubscribe(sessionId);
    return subscription;
  }

  /** Bytes of output that the backend has, perhaps more than this process; 0 if that does not matter. */
  async #known(feed: Feed, { from, flags }: Subscribe): Promise<number> {
    const isBeyond = feed.isRecorded && typeof from === "number" && from > feed.end;
    const isSizeUnknown = (flags & SubscribeFlag.Offsets) !== 0 && !feed.hasSizes;
    if (!isBeyond && !isSizeUnknown) return 0;
    const record = await this.view.sessions.get(feed.sessionId);
    feed.sized(record);
    return record.outputBytes;
  }

  #subscribeGlobal({ flags }: Subscribe): void {
    this.#isGlobal = (flags & SubscribeFlag.Events) !== 0;
    this.notify({ type: "connected", timestamp: new Date().toISOString(), ...this.#hub.position });
  }

  /** Pending frames are not sent any more. */
  #unsubscribe(sessionId: string): void {
    const subscription = this.#subscriptions.get(sessionId);
    if (subscription === undefined) return;
    this.#subscriptions.delete(sessionId);
    this.outbox.remove(subscription);
    subscription[Symbol.dispose]();
    this.#hub.closeFeed(subscription.feed);
  }

  /** `answered`: the message that failed, by its number on the connection; without it the ERROR answers none. */
  failed(sessionId: string, error: unknown, answered: Answered = { frame: 0 }): void {
    const { error: message, code } = errorBody(error);
    if (code === "internal_error") this.#hub.onFailure(error);
    this.#send(FrameType.ERROR, sessionId, encodeJson({ message, code, ...answered }));
  }

  #send(type: FrameType, sessionId: string, payload: Uint8Array): void {
    this.#answer(encodeFrame(type, sessionId, payload, this.outbox.magic));
  }

  #answer(frame: Uint8Array): void {
    if (this.#isClosed) return;
    this.outbox.answer(frame);
    this.#requests.crowded(this.outbox.isCrowded);
  }
}
