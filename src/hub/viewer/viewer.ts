// One client's connection: frames in, strictly in order; frames out, as fast as it reads.
import type { SourcePosition } from "../../protocol/directory/session-change.ts";
import { errorBody, ServiceError } from "../../protocol/errors.ts";
import type { FailedRequest } from "../../protocol/frame/error-decoder.ts";
import type { ServerEvent } from "../../protocol/frame/event.ts";
import {
  decodeFrame,
  encodeFrame,
  type Frame,
  FrameError,
  FrameType,
  PayloadError,
} from "../../protocol/frame/frame.ts";
import {
  encodeJson,
  type GoAway,
  type Hello,
  type Subscribe,
  SubscribeFlag,
} from "../../protocol/frame/payload.ts";
import { MAX_BAD_FRAMES, MAX_SUBSCRIPTIONS } from "../../protocol/limits.ts";
import type { SessionBackend } from "../../sessions/backend.ts";
import type { Feed } from "../feed.ts";
import { Outbox, type Peer } from "../outbox.ts";
import type { ThrottledAuditHook } from "../requests.ts";
import { ClientRequests, checkSessionId, perform, type Request, readRequest } from "../requests.ts";
import { Traffic } from "../traffic.ts";
import { Subscription, type SubscriptionHost } from "./subscription.ts";

export type ViewerOptions = {
  readonly peer: Peer;
  readonly backend: SessionBackend;
  /** Output before this offset is not for the client; `undefined`: it has all of it. */
  readonly historyFrom?: number | undefined;
  /** Nothing of the repository that a session is in is for the client. */
  readonly isRepositoryHidden?: boolean | undefined;
  /** The types of frames that the client may not send, each with the reason. */
  readonly refusals?: ReadonlyMap<number, string> | undefined;
  /** `flags`: what is wanted of it at first. */
  readonly openFeed: (sessionId: string, flags: number) => Promise<Feed>;
  readonly closeFeed: (feed: Feed) => void;
  /** Of the changes that the client is told from now on. */
  readonly position: () => SourcePosition;
  /** Something failed of which the client is told only that it did. */
  readonly onFailure: (error: unknown) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly watch?: ThrottledAuditHook | undefined;
  readonly traffic?: Traffic;
};

export class Viewer implements SubscriptionHost, AsyncDisposable {
  readonly outbox: Outbox;
  readonly now: () => number;
  readonly isRepositoryHidden: boolean;
  readonly #options: ViewerOptions;
  readonly #requests: ClientRequests;
  readonly #traffic: Traffic;
  readonly #subscriptions = new Map<string, Subscription>();
  #isClosed = false;
  #isWelcomed = false;
  #isGlobal = false;
  #hello: Hello | undefined;
  #lastHeardMs: number;
  #hasMagic = false;
  #badInARow = 0;

  constructor(options: ViewerOptions) {
    const { peer, now, traffic = new Traffic() } = options;
    this.#options = options;
    this.now = now;
    this.isRepositoryHidden = options.isRepositoryHidden === true;
    this.#traffic = traffic;
    this.#lastHeardMs = now();
    this.#requests = new ClientRequests({ peer, handle: (frame) => this.#handle(frame) });
    const onSent = (): void => this.#requests.crowded(this.outbox.isCrowded);
    this.outbox = new Outbox({ peer, now, traffic, onSent });
  }

  get hello(): Hello | undefined {
    return this.#hello;
  }

  /** Output that it asked for and has not taken, and what else was sent to it and has not left this process. */
  get lagBytes(): number {
    let bytes = this.outbox.bytes;
    for (const subscription of this.#subscriptions.values()) bytes += subscription.lagBytes;
    return bytes;
  }

  /** It watches everything that happens. */
  get isGlobal(): boolean {
    return this.#isGlobal;
  }

  get sessionIds(): string[] {
    return [...this.#subscriptions.keys()];
  }

  /**
   * The client knows that its socket is open, as it also does once it sends something: the first frame goes out, once.
   * In both byte orders: a client that reads before it sends has not shown its own yet, and drops the other one.
   */
  welcome(): void {
    if (this.#isWelcomed || this.#isClosed) return;
    this.#isWelcomed = true;
    const payload = encodeJson({ ok: true, version: 3 });
    for (const magic of ["VT", "TV"] as const)
      this.outbox.answer(encodeFrame(FrameType.WELCOME, "", payload, magic));
  }

  /** One binary message from the client. */
  receive(message: Uint8Array): void {
    if (this.#isClosed) return;
    this.welcome();
    this.heard();
    const frame = this.#decode(message);
    if (frame !== undefined) this.#requests.receive(frame);
    else if (this.#badInARow >= MAX_BAD_FRAMES) this.#refuse();
  }

  /** A text message: nothing that this protocol has. */
  receiveText(): void {
    this.welcome();
    this.heard();
    this.#error("", new ServiceError("binary_only", "this socket takes binary frames alone"));
  }

  /** The client gave a sign of life. */
  heard(): void {
    this.#lastHeardMs = this.#options.now();
  }

  /** To be called each `intervalMs`: drops a client that was silent for two of them (contract 1.9). */
  keepAlive(intervalMs: number): void {
    const { peer, now } = this.#options;
    if (now() - this.#lastHeardMs <= 2 * intervalMs) {
      peer.ping();
      return;
    }
    this.#traffic.droppedSilent += 1;
    peer.terminate();
  }

  notify(event: ServerEvent): void {
    if (this.#isGlobal) this.#send(FrameType.EVENT, event.sessionId ?? "", encodeJson(event));
  }

  /** An event about several sessions: to a client that watches everything, or one of them. */
  tell(event: ServerEvent, isSeen: boolean): void {
    const sessionId = event.sessionIds?.find((id) => this.#subscriptions.get(id)?.hasEvents);
    if (this.#isGlobal && isSeen) this.notify(event);
    else if (sessionId !== undefined)
      this.#send(FrameType.EVENT, sessionId, encodeJson({ ...event, sessionId }));
  }

  /** Asks the client to go and come back; false where it did not say who it is: it knows no such frame. */
  goAway(notice: GoAway): boolean {
    const isKnown = this.#hello !== undefined;
    if (isKnown) this.#send(FrameType.GOAWAY, "", encodeJson(notice));
    return isKnown;
  }

  /** Of the WebSocket protocol. */
  close(code: number, reason: string): void {
    this.#options.peer.close(code, reason);
  }

  redrawn(): void {
    this.#traffic.resyncs += 1;
  }

  failed(sessionId: string, error: unknown): void {
    this.#error(sessionId, error);
  }

  lost(subscription: Subscription, error: ServiceError): void {
    const { sessionId } = subscription.feed;
    void this.#unsubscribe(sessionId);
    this.#error(sessionId, error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    this.#requests.close();
    await Promise.all([...this.#subscriptions.keys()].map((id) => this.#unsubscribe(id)));
  }

  /** What it sends from now on is not looked at, however long it takes to close its side. */
  #refuse(): void {
    void this.#close();
    this.#traffic.droppedBad += 1;
    this.#options.peer.close(1002, "too many bad frames");
  }

  /** A view into `message`; undefined for a message that is no frame. */
  #decode(message: Uint8Array): Frame | undefined {
    this.#traffic.framesIn += 1;
    this.#traffic.bytesIn += message.length;
    try {
      const frame = decodeFrame(message);
      this.#badInARow = 0;
      if (!this.#hasMagic) this.outbox.magic = frame.magic;
      this.#hasMagic = true;
      return frame;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#traffic.badFrames += 1;
      this.#badInARow += 1;
      this.#error("", new ServiceError("bad_frame", error.message));
      return undefined;
    }
  }

  /** A request that takes a while holds up the next one, so that frames are handled in order (contract 1.10). */
  #handle(frame: Frame): Promise<void> | undefined {
    const { sessionId } = frame;
    try {
      const request = readRequest(frame);
      if (request.kind === "subscribe" && sessionId !== "") {
        return this.#subscribe(sessionId, request.subscribe).catch((error: unknown) =>
          this.#error(sessionId, error, "subscribe"),
        );
      }
      this.#carryOut(frame, request);
    } catch (error) {
      this.#requests.answer(() => this.#error(sessionId, error));
    }
    return undefined;
  }

  #carryOut({ sessionId, type }: Frame, request: Request): void {
    if (request.kind === "hello") this.#hello = request.hello;
    else if (request.kind === "ping")
      this.#requests.answer(() => this.#send(FrameType.PONG, "", request.payload));
    else if (request.kind === "subscribe") {
      this.#demand(type);
      this.#subscribeGlobal(request.subscribe.flags);
    } else if (request.kind === "unsubscribe") {
      this.#demand(type);
      this.#leave(sessionId);
    } else {
      checkSessionId(sessionId);
      const work = perform(request, sessionId, this.#options, this.#refused(type));
      this.#requests.follow(work, (error) => this.#error(sessionId, error, "command"));
    }
  }

  /** Throws where the client may not send frames of that type. */
  #demand(type: number): void {
    const refusal = this.#options.refusals?.get(type);
    if (refusal !== undefined) throw new ServiceError("forbidden", refusal);
  }

  /** The same as a promise that rejects. */
  #refused(type: number): Promise<never> | undefined {
    const refusal = this.#options.refusals?.get(type);
    return refusal === undefined ? undefined : Promise.reject(new ServiceError("forbidden", refusal));
  }

  async #subscribe(sessionId: string, request: Subscribe): Promise<void> {
    checkSessionId(sessionId);
    const subscription = await this.#prepared(sessionId, request.flags);
    const known = await this.#known(subscription.feed, request);
    // Meanwhile the client may have gone, or the session.
    if (this.#subscriptions.get(sessionId) !== subscription) return;
    const answer = subscription.apply(request, known);
    if (answer !== undefined) this.#send(FrameType.SUBSCRIBED, sessionId, encodeJson(answer));
    this.outbox.ready(subscription);
  }

  /** The subscription, with a feed that has what these flags need; a new one is given up where it has not. */
  async #prepared(sessionId: string, flags: number): Promise<Subscription> {
    const known = this.#subscriptions.get(sessionId);
    const subscription = known ?? (await this.#open(sessionId, flags));
    try {
      await subscription.feed.want(subscription, flags);
    } catch (error) {
      if (known === undefined) this.#leave(sessionId);
      throw error;
    }
    return subscription;
  }

  async #open(sessionId: string, flags: number): Promise<Subscription> {
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
      throw new ServiceError(
        "too_many_subscriptions",
        `one connection holds at most ${MAX_SUBSCRIPTIONS} subscriptions`,
      );
    }
    const { backend, historyFrom, watch, openFeed } = this.#options;
    const refused = this.#refused(FrameType.SUBSCRIBE);
    if (refused !== undefined) watch?.subscribing(sessionId, refused);
    const feed = await (refused ?? openFeed(sessionId, flags));
    const subscription = new Subscription({ feed, backend, historyFrom, host: this });
    this.#subscriptions.set(sessionId, subscription);
    if (this.#isClosed) void this.#unsubscribe(sessionId);
    else if (feed.loss !== undefined) this.lost(subscription, feed.loss);
    return subscription;
  }

  /** Output that the backend has already and this process may not; 0 where nobody needs to know. */
  async #known(feed: Feed, { from, flags }: Subscribe): Promise<number> {
    const isBeyond = feed.isRecorded && typeof from === "number" && from > feed.end;
    const isSizeUnknown = (flags & SubscribeFlag.Offsets) !== 0 && !feed.hasSizes;
    if (!isBeyond && !isSizeUnknown) return 0;
    const record = await this.#options.backend.get(feed.sessionId);
    feed.sized(record);
    return record.outputBytes;
  }

  #subscribeGlobal(flags: number): void {
    this.#isGlobal = (flags & SubscribeFlag.Events) !== 0;
    this.notify({ type: "connected", timestamp: new Date().toISOString(), ...this.#options.position() });
  }

  #leave(sessionId: string): void {
    if (sessionId === "") this.#isGlobal = false;
    else void this.#unsubscribe(sessionId);
  }

  /** Need not be waited for: what is on its way is not sent any more. */
  async #unsubscribe(sessionId: string): Promise<void> {
    const subscription = this.#subscriptions.get(sessionId);
    if (subscription === undefined) return;
    this.#subscriptions.delete(sessionId);
    this.outbox.remove(subscription);
    const done = subscription[Symbol.asyncDispose]();
    this.#options.closeFeed(subscription.feed);
    await done;
  }

  /** `request`: the kind of request that failed: commands take their time, and a SUBSCRIBE may overtake them. */
  #error(sessionId: string, error: unknown, request?: FailedRequest): void {
    const known = error instanceof PayloadError ? new ServiceError("invalid_request", error.message) : error;
    const { error: message, code } = errorBody(known);
    if (code === "internal_error") this.#options.onFailure(error);
    this.#send(FrameType.ERROR, sessionId, encodeJson({ message, code, ...(request && { request }) }));
  }

  #send(type: FrameType, sessionId: string, payload: Uint8Array): void {
    if (this.#isClosed) return;
    this.outbox.answer(encodeFrame(type, sessionId, payload, this.outbox.magic));
    this.#requests.crowded(this.outbox.isCrowded);
  }
}
