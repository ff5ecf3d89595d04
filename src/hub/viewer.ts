// One client's connection: frames in, strictly in order; frames out, as fast as it reads.
import { errorBody, ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/event.ts";
import {
  decodeFrame,
  encodeFrame,
  type Frame,
  FrameError,
  FrameType,
  type Magic,
} from "../protocol/frame.ts";
import { MAX_BAD_FRAMES, MAX_SUBSCRIPTIONS, PING_INTERVAL_MS } from "../protocol/limits.ts";
import { encodeJson, type Hello, PayloadError, SubscribeFlag } from "../protocol/payload.ts";
import { SessionId } from "../protocol/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { Feed } from "./feed.ts";
import { Outbox, type Peer } from "./outbox.ts";
import { type Request, readRequest } from "./request.ts";
import { Subscription } from "./subscription.ts";

/** Requests that wait for one before them to be dealt with at most; then the client is not read. */
const MAX_WAITING_REQUESTS = 256;
/** Events and errors for a client that does not read at most; then it is dropped. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

export type ViewerOptions = {
  readonly peer: Peer;
  readonly backend: SessionBackend;
  readonly openFeed: (sessionId: string) => Promise<Feed>;
  readonly closeFeed: (feed: Feed) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

export class Viewer implements AsyncDisposable {
  readonly #options: ViewerOptions;
  readonly #outbox: Outbox;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #ready = new Set<Subscription>();
  readonly #waiting: Frame[] = [];
  readonly #commands = new Set<Promise<void>>();
  #pongs: Promise<void> = Promise.resolve();
  #magic: Magic | undefined;
  #isWorking = false;
  #isClosed = false;
  #badFrames = 0;
  #isGlobal = false;
  #lastHeardMs: number;
  #hello: Hello | undefined;

  constructor(options: ViewerOptions) {
    this.#options = options;
    this.#outbox = new Outbox({ peer: options.peer, now: options.now, onRoom: () => this.#pump() });
    this.#lastHeardMs = options.now();
    this.#send(FrameType.WELCOME, "", encodeJson({ ok: true, version: 3 }));
  }

  get magic(): Magic {
    return this.#magic ?? "VT";
  }

  get now(): () => number {
    return this.#options.now;
  }

  get pauseMs(): number {
    return this.#outbox.pauseMs;
  }

  get hello(): Hello | undefined {
    return this.#hello;
  }

  get sessionIds(): string[] {
    return [...this.#subscriptions.keys()];
  }

  /** One binary message from the client. */
  receive(message: Uint8Array): void {
    if (this.#isClosed) return;
    this.heard();
    const frame = this.#decode(message);
    if (frame === undefined) return;
    this.#magic ??= frame.magic;
    if (this.#isWorking) this.#postpone(frame);
    else this.#handle(frame);
  }

  /** A text message: nothing that this protocol has. */
  receiveText(): void {
    this.heard();
    this.#error("", new ServiceError("binary_only", "this socket takes binary frames alone"));
  }

  /** The client gave a sign of life. */
  heard(): void {
    this.#lastHeardMs = this.#options.now();
  }

  /** Each PING_INTERVAL_MS: drops a client that was silent for two of them (contract 1.9). */
  keepAlive(): void {
    if (this.#options.now() - this.#lastHeardMs > 2 * PING_INTERVAL_MS) this.#options.peer.terminate();
    else this.#options.peer.ping();
  }

  notify(event: ServerEvent): void {
    if (this.#isGlobal) this.#send(FrameType.EVENT, event.sessionId ?? "", encodeJson(event));
  }

  wake(subscription: Subscription): void {
    this.#ready.add(subscription);
    this.#pump();
  }

  failed(sessionId: string, error: unknown): void {
    this.#error(sessionId, error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#waiting.length = 0;
    await Promise.all([...this.#subscriptions.keys()].map((id) => this.#unsubscribe(id)));
  }

  #decode(message: Uint8Array): Frame | undefined {
    try {
      const frame = decodeFrame(message);
      this.#badFrames = 0;
      return frame;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#error("", new ServiceError("bad_frame", error.message));
      this.#badFrames += 1;
      if (this.#badFrames >= MAX_BAD_FRAMES) this.#options.peer.close(1002, "too many bad frames");
      return undefined;
    }
  }

  #postpone(frame: Frame): void {
    // The frame views a buffer of the socket, which is used again.
    this.#waiting.push({ ...frame, payload: frame.payload.slice() });
    if (this.#waiting.length === MAX_WAITING_REQUESTS) this.#options.peer.pause();
  }

  #handle(frame: Frame): void {
    try {
      const request = readRequest(frame);
      if (request.kind === "subscribe" && frame.sessionId !== "") this.#workOn(frame.sessionId, request);
      else this.#carryOut(frame.sessionId, request);
    } catch (error) {
      this.#error(frame.sessionId, error);
    }
  }

  /** What takes a while holds up what comes after it, so that frames are handled in order (contract 1.10). */
  #workOn(sessionId: string, request: Extract<Request, { kind: "subscribe" }>): void {
    this.#isWorking = true;
    void this.#subscribe(sessionId, request)
      .catch((error: unknown) => this.#error(sessionId, error))
      .then(() => this.#goOn());
  }

  #goOn(): void {
    this.#isWorking = false;
    if (this.#waiting.length >= MAX_WAITING_REQUESTS) this.#options.peer.resume();
    while (!this.#isWorking && !this.#isClosed) {
      const frame = this.#waiting.shift();
      if (frame === undefined) return;
      this.#handle(frame);
    }
  }

  #carryOut(sessionId: string, request: Request): void {
    const { backend } = this.#options;
    if (request.kind === "hello") this.#hello = request.hello;
    else if (request.kind === "ping") this.#pong(request.payload);
    else if (request.kind === "subscribe") this.#subscribeGlobal(request.subscribe.flags);
    else if (request.kind === "unsubscribe") this.#leave(sessionId);
    else {
      checkSessionId(sessionId);
      if (request.kind === "input") this.#command(sessionId, backend.write(sessionId, request.bytes));
      if (request.kind === "resize") this.#command(sessionId, backend.resize(sessionId, request.size));
      if (request.kind === "kill") this.#command(sessionId, backend.kill(sessionId, request.signal));
    }
  }

  #command(sessionId: string, done: Promise<void>): void {
    const settled = done
      .catch((error: unknown) => this.#error(sessionId, error))
      .finally(() => void this.#commands.delete(settled));
    this.#commands.add(settled);
  }

  /** A PONG says that everything before its PING was dealt with: that is how a gateway learns what became of input. */
  #pong(payload: Uint8Array): void {
    const answer = payload.slice();
    const before = [...this.#commands];
    this.#pongs = this.#pongs
      .then(() => Promise.all(before))
      .then(() => this.#send(FrameType.PONG, "", answer));
  }

  async #subscribe(sessionId: string, request: Extract<Request, { kind: "subscribe" }>): Promise<void> {
    checkSessionId(sessionId);
    const existing = this.#subscriptions.get(sessionId);
    if (existing !== undefined) return existing.apply(request.subscribe);
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
      throw new ServiceError(
        "too_many_subscriptions",
        `one connection holds at most ${MAX_SUBSCRIPTIONS} subscriptions`,
      );
    }
    const feed = await this.#options.openFeed(sessionId);
    if (this.#isClosed) return this.#options.closeFeed(feed);
    const subscription = new Subscription({ feed, backend: this.#options.backend, host: this });
    this.#subscriptions.set(sessionId, subscription);
    subscription.apply(request.subscribe);
  }

  #subscribeGlobal(flags: number): void {
    this.#isGlobal = (flags & SubscribeFlag.Events) !== 0;
    this.notify({ type: "connected", timestamp: new Date().toISOString() });
  }

  #leave(sessionId: string): void {
    if (sessionId === "") this.#isGlobal = false;
    else void this.#unsubscribe(sessionId);
  }

  async #unsubscribe(sessionId: string): Promise<void> {
    const subscription = this.#subscriptions.get(sessionId);
    if (subscription === undefined) return;
    this.#subscriptions.delete(sessionId);
    this.#ready.delete(subscription);
    const done = subscription[Symbol.asyncDispose]();
    this.#options.closeFeed(subscription.feed);
    await done;
  }

  /** Sends what is ready while there is room, one frame of each subscription in turn. */
  #pump(): void {
    while (this.#outbox.hasRoom && !this.#isClosed) {
      const [subscription] = this.#ready;
      if (subscription === undefined) return;
      this.#ready.delete(subscription);
      const frame = subscription.take();
      if (frame === undefined) continue;
      this.#ready.add(subscription);
      this.#outbox.send(frame);
    }
  }

  #error(sessionId: string, error: unknown): void {
    const known = error instanceof PayloadError ? new ServiceError("invalid_request", error.message) : error;
    const { error: message, code } = errorBody(known);
    this.#send(FrameType.ERROR, sessionId, encodeJson({ message, code }));
  }

  #send(type: FrameType, sessionId: string, payload: Uint8Array): void {
    if (this.#isClosed) return;
    if (this.#options.peer.bufferedBytes > MAX_UNREAD_BYTES) {
      this.#options.peer.terminate();
      return;
    }
    this.#outbox.send(encodeFrame(type, sessionId, payload, this.magic));
  }
}

function checkSessionId(sessionId: string): void {
  if (!SessionId.safeParse(sessionId).success)
    throw new ServiceError("session_not_found", `no session ${sessionId}`);
}
