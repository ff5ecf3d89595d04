// The one client of /ws: of the page, of the command line and of every server that has its sessions elsewhere.
import { Emitter } from "../../lib/async/emitter.ts";
import { ServiceError } from "../errors.ts";
import { decodeError } from "../frame/error-decoder.ts";
import type { ServerEvent } from "../frame/event.ts";
import { decodeEvent } from "../frame/event-decoder.ts";
import {
  decodeFrame,
  encodeFrame,
  type Frame,
  FrameError,
  FrameType,
  PayloadError,
  readU32,
} from "../frame/frame.ts";
import {
  decodeGoAway,
  decodeSubscribed,
  encodeJson,
  encodeSubscribe,
  SubscribeFlag,
} from "../frame/payload.ts";
import { MAX_SUBSCRIPTIONS, RESUBSCRIBE_DELAY_MS } from "../limits.ts";
import type { SignalName, TerminalSize } from "../schemas/session.ts";
import { CommandSender } from "./command-sender.ts";
import { Connection, type ConnectionOptions, type ConnectionState } from "./connection.ts";
import { isFinal } from "./link-error.ts";
import { type AttachmentHandlers, SubscriptionState } from "./subscription-state.ts";

export type SessionSocketOptions = ConnectionOptions & {
  /** Who this is, for the server's log: "page", "attach", "uplink". */
  readonly clientName: string;
  readonly version: string;
  /** Milliseconds. */
  readonly resubscribeMs?: number;
};

/** One session's output as it comes in. Disposing it ends the subscription. */
export type Attachment = Disposable & {
  readonly sessionId: string;
  /** The offset of the byte that comes next; "live" until the server has said where that is. */
  readonly next: number | "live";
  /** Stops the output until `resume`, which goes on at the same byte: for a reader that cannot keep up. */
  pause(): void;
  resume(): void;
  /** Asks for other flags than at first; `onSubscribed` hears of the answer. */
  request(flags: number): void;
};

/**
 * One connection to /ws for any number of sessions. It reconnects by itself and resumes every attachment at the byte
 * where it stood. Commands are sent at once or refused, never kept for later: what somebody typed before a cut must
 * not reach a program after it.
 * Bounds: MAX_SUBSCRIPTIONS attachments, MAX_PENDING_COMMANDS commands without an answer, MAX_UNSENT_BYTES in the link.
 */
export class SessionSocket implements Disposable {
  readonly #connection: Connection;
  readonly #hello: Uint8Array;
  readonly #resubscribeMs: number;
  readonly #attachments = new Map<string, SubscriptionState>();
  readonly #commands: CommandSender;
  /** Sessions whose last subscription may still send something. */
  readonly #leaving = new Map<string, object>();
  readonly #serverEvents = new Emitter<ServerEvent>();
  readonly #reconnects = new Emitter<void>();
  #hadLink = false;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SessionSocketOptions) {
    this.#hello = encodeJson({ client: options.clientName, version: options.version });
    this.#resubscribeMs = options.resubscribeMs ?? RESUBSCRIBE_DELAY_MS;
    this.#connection = new Connection(options, {
      opened: () => this.#opened(),
      message: (message) => this.#received(message),
      leaving: () => this.#commands.ask(),
      lost: (error) => this.#lost(error),
    });
    this.#commands = new CommandSender(this.#connection);
  }

  get state(): ConnectionState {
    return this.#connection.state;
  }

  /** Called with every new state. */
  onState(listener: (state: ConnectionState) => void): Disposable {
    return this.#connection.onState(listener);
  }

  /** Called when a later link than the first is open and all subscriptions were sent on it. */
  onReconnected(listener: () => void): Disposable {
    return this.#reconnects.on(listener);
  }

  /** To be called after sleep or a change of network: looks after the link at once. */
  wake(): void {
    this.#connection.wake();
  }

  /** Gives up the link, if there is one, and opens another at once: the server is to be found elsewhere. */
  reconnect(): void {
    this.#connection.reconnect();
  }

  /**
   * Resolves when the link is open. Rejects with what stood in the way when it is closed for good or `timeoutMs` have
   * passed; the tries go on then.
   */
  opened(timeoutMs: number): Promise<void> {
    return this.#connection.opened(timeoutMs);
  }

  /**
   * Follows a session from byte `from` on: every byte once and in order, over any number of reconnects. `flags` are
   * SubscribeFlag's, Offsets is added. Throws `session_exists` if this socket follows it already.
   */
  attach(
    sessionId: string,
    request: { readonly from: number | "live"; readonly flags?: number },
    handlers: AttachmentHandlers,
  ): Attachment {
    if (this.#attachments.has(sessionId)) {
      throw new ServiceError("session_exists", `session ${sessionId} is attached already`);
    }
    if (this.#attachments.size >= MAX_SUBSCRIPTIONS) {
      throw new ServiceError("too_many_subscriptions", `more than ${MAX_SUBSCRIPTIONS} attachments`);
    }
    const flags = request.flags ?? SubscribeFlag.Stdout | SubscribeFlag.Events;
    const state = new SubscriptionState(sessionId, { from: request.from, flags }, handlers);
    this.#attachments.set(sessionId, state);
    this.#subscribe(state);
    return this.#attachmentOf(state);
  }

  /**
   * Types bytes into a session. Resolves when the server has dealt with them. Rejects with the server's error; with
   * `host_unreachable` at once when there is no link, or later when the link is lost: then it is not known whether the
   * input arrived.
   */
  write(sessionId: string, bytes: Uint8Array): Promise<void> {
    return this.#commands.write(sessionId, bytes);
  }

  /** As `write`. */
  resize(sessionId: string, size: TerminalSize): Promise<void> {
    return this.#commands.resize(sessionId, size);
  }

  /** As `write`. */
  kill(sessionId: string, signal: SignalName): Promise<void> {
    return this.#commands.kill(sessionId, signal);
  }

  /** Resolves when everything has arrived that the server had sent by now; rejects as `write`. */
  caughtUp(): Promise<void> {
    return this.#commands.caughtUp();
  }

  /**
   * What happens to sessions and server at large. The first event on every link is `connected`: whoever mirrors the
   * server's state reads it anew then, and misses nothing.
   */
  subscribeGlobal(listener: (event: ServerEvent) => void): Disposable {
    const listening = this.#serverEvents.on(listener);
    if (this.#serverEvents.size === 1) this.#subscribeGlobal();
    return {
      [Symbol.dispose]: () => {
        const before = this.#serverEvents.size;
        listening[Symbol.dispose]();
        if (before === 1 && this.#serverEvents.size === 0) this.#send(FrameType.UNSUBSCRIBE, "");
      },
    };
  }

  /** Closes the link for good. Pending commands are rejected, handlers hear nothing more. */
  [Symbol.dispose](): void {
    clearTimeout(this.#again);
    this.#attachments.clear();
    this.#connection[Symbol.dispose]();
  }

  #attachmentOf(state: SubscriptionState): Attachment {
    const isHeld = (): boolean => this.#attachments.get(state.sessionId) === state;
    return {
      sessionId: state.sessionId,
      get next() {
        return state.next;
      },
      pause: () => {
        if (isHeld() && state.pause()) this.#unsubscribe(state.sessionId);
      },
      resume: () => {
        if (isHeld() && state.resume()) this.#subscribe(state);
      },
      request: (flags) => {
        if (isHeld() && state.request(flags)) this.#subscribe(state);
      },
      [Symbol.dispose]: () => {
        if (!isHeld()) return;
        this.#attachments.delete(state.sessionId);
        state.finish();
        this.#unsubscribe(state.sessionId);
      },
    };
  }

  #opened(): void {
    this.#send(FrameType.HELLO, "", this.#hello);
    if (this.#serverEvents.size > 0) this.#subscribeGlobal();
    for (const state of this.#attachments.values()) this.#subscribe(state);
    if (this.#hadLink) this.#reconnects.emit();
    this.#hadLink = true;
  }

  #lost(error: ServiceError): void {
    for (const state of this.#attachments.values()) state.end();
    this.#leaving.clear();
    this.#commands.lost(error);
  }

  #subscribe(state: SubscriptionState): void {
    const { link } = this.#connection;
    // What is still to come of an earlier subscription to this session must not be taken for this one's.
    if (link === undefined || !state.isIdle || this.#leaving.has(state.sessionId)) return;
    link.send(encodeFrame(FrameType.SUBSCRIBE, state.sessionId, state.begin()));
  }

  #unsubscribe(sessionId: string): void {
    if (this.#connection.link === undefined) return;
    const token = {};
    this.#leaving.set(sessionId, token);
    this.#commands.unsubscribe(sessionId, () => {
      if (this.#leaving.get(sessionId) !== token) return;
      this.#leaving.delete(sessionId);
      const state = this.#attachments.get(sessionId);
      if (state !== undefined) this.#subscribe(state);
    });
  }

  #refused(state: SubscriptionState, error: ServiceError): void {
    if (isFinal(error)) {
      state.finish();
    } else {
      state.end();
      this.#again ??= setTimeout(() => this.#subscribeAgain(), this.#resubscribeMs);
    }
    state.handlers.onError?.(error);
  }

  #subscribeAgain(): void {
    this.#again = undefined;
    for (const state of this.#attachments.values()) this.#subscribe(state);
  }

  #subscribeGlobal(): void {
    this.#send(FrameType.SUBSCRIBE, "", encodeSubscribe({ flags: SubscribeFlag.Events }));
  }

  #send(type: number, sessionId: string, payload: Uint8Array = new Uint8Array()): void {
    this.#connection.link?.send(encodeFrame(type, sessionId, payload));
  }

  #received(message: Uint8Array): void {
    try {
      this.#dispatch(decodeFrame(message), message);
    } catch (cause) {
      if (!(cause instanceof FrameError || cause instanceof PayloadError)) throw cause;
      this.#connection.fail(new ServiceError("host_unreachable", `bad frame: ${cause.message}`, { cause }));
    }
  }

  #dispatch(frame: Frame, message: Uint8Array): void {
    const { type, sessionId, payload } = frame;
    if (type === FrameType.PONG) this.#answered(readU32(payload, 0));
    else if (type === FrameType.GOAWAY) this.#connection.moveLater(decodeGoAway(payload));
    else if (type === FrameType.ERROR) this.#failed(sessionId, payload);
    else if (type === FrameType.EVENT) this.#event(sessionId, payload);
    else {
      const state = this.#attachments.get(sessionId);
      if (state === undefined) return;
      if (type === FrameType.SUBSCRIBED) state.subscribed(decodeSubscribed(payload));
      else if (type === FrameType.OUTPUT) this.#output(state, frame, message);
      else if (type === FrameType.RESYNC) state.resync(payload);
      else if (type === FrameType.SNAPSHOT_VT) state.snapshot(payload);
    }
  }

  #answered(ping: number): void {
    this.#commands.answered(ping);
    if (!this.#commands.isWaiting) this.#connection.move();
  }

  #output(state: SubscriptionState, frame: Frame, message: Uint8Array): void {
    if (state.output(frame, message)) return;
    this.#connection.fail(
      new ServiceError("host_unreachable", `bytes are missing in the output of session ${state.sessionId}`),
    );
  }

  #event(sessionId: string, payload: Uint8Array): void {
    const decoded = decodeEvent(payload);
    if (decoded?.scope === "server") this.#serverEvents.emit(decoded.event);
    else if (decoded !== undefined) this.#attachments.get(sessionId)?.event(decoded.event);
  }

  /** An older server does not say what its error answers: then what is likely counts. */
  #failed(sessionId: string, payload: Uint8Array): void {
    const { error, request } = decodeError(payload);
    const state = this.#attachments.get(sessionId);
    // No SUBSCRIBE is refused because the session has ended: that was input.
    const isLikely = request === undefined && error.code !== "session_not_running";
    if (state?.isSubscribing && (request === "subscribe" || isLikely)) this.#refused(state, error);
    else if (request === "subscribe") return;
    else if (!this.#commands.failed(sessionId, error) && state?.isLive) state.handlers.onError?.(error);
  }
}
