// The only client of /ws: in the page, the command line, and servers whose sessions are in another process.
import { Emitter } from "../../lib/async/emitter.ts";
import type { ServiceError } from "../errors.ts";
import type { ServerEvent } from "../frame/event.ts";
import { decodeEvent } from "../frame/event.ts";
import { encodeFrame, type Frame, FrameType, readU32 } from "../frame/frame.ts";
import { decodeError, decodeGoAway, encodeJson, encodeSubscribe, SubscribeFlag } from "../frame/payload.ts";
import { RESUBSCRIBE_DELAY_MS } from "../limits.ts";
import {
  type Attachment,
  type AttachmentHandlers,
  type AttachmentRequest,
  Attachments,
} from "./attachments.ts";
import { CommandSender } from "./command-sender.ts";
import { Connection, type ConnectionOptions, type ConnectionState } from "./connection.ts";

export type SessionSocketOptions = ConnectionOptions & {
  /** The client's name in the server's log: "page", "attach", "uplink". */
  readonly clientName: string;
  readonly version: string;
  /** Milliseconds. */
  readonly resubscribeMs?: number;
};

/**
 * One connection to /ws for any number of sessions. It reconnects by itself and resumes every attachment at its byte.
 * Commands are sent at once or refused: input from before a cut must not reach a program after it.
 * Bounds: MAX_SUBSCRIPTIONS attachments, MAX_PENDING_COMMANDS commands without an answer, MAX_UNSENT_BYTES in the link.
 */
export class SessionSocket implements Disposable {
  /**
   * Types bytes into a session. Resolves when the server has handled them. Rejects with the server's error, or with
   * `host_unreachable`: at once without a link, later when the link is lost and it is unknown whether the input arrived.
   */
  readonly write: CommandSender["write"];
  /** Settles like `write`. */
  readonly resize: CommandSender["resize"];
  /** Settles like `write`. */
  readonly kill: CommandSender["kill"];
  /** Resolves when everything that the server has sent so far has arrived; rejects like `write`. */
  readonly caughtUp: CommandSender["caughtUp"];
  readonly #connection: Connection;
  readonly #hello: Uint8Array;
  readonly #attachments: Attachments;
  readonly #commands: CommandSender;
  readonly #serverEvents = new Emitter<ServerEvent>();
  readonly #reconnects = new Emitter<void>();
  #hadLink = false;

  constructor(options: SessionSocketOptions) {
    this.#hello = encodeJson({ client: options.clientName, version: options.version });
    this.#attachments = new Attachments({
      link: () => this.#connection.link,
      unsubscribe: (sessionId, left) => this.#commands.unsubscribe(sessionId, left),
      fail: (error) => this.#connection.fail(error),
      onFrame: (frame) => this.#handle(frame),
      resubscribeMs: options.resubscribeMs ?? RESUBSCRIBE_DELAY_MS,
    });
    this.#connection = new Connection(options, {
      opened: () => this.#opened(),
      message: this.#attachments.receive,
      leaving: () => this.#commands.ask(),
      lost: (error) => this.#lost(error),
    });
    this.#commands = new CommandSender(this.#connection);
    this.write = this.#commands.write.bind(this.#commands);
    this.resize = this.#commands.resize.bind(this.#commands);
    this.kill = this.#commands.kill.bind(this.#commands);
    this.caughtUp = this.#commands.caughtUp.bind(this.#commands);
  }

  get state(): ConnectionState {
    return this.#connection.state;
  }

  /** Called with every new state. */
  onState(listener: (state: ConnectionState) => void): Disposable {
    return this.#connection.onState(listener);
  }

  /** Called when a link other than the first is open and all subscriptions were sent on it. */
  onReconnected(listener: () => void): Disposable {
    return this.#reconnects.on(listener);
  }

  /** Checks the link at once, after sleep or a change of network. */
  wake(): void {
    this.#connection.wake();
  }

  /** Drops the link, if there is one, and opens another at once, since the server's address has changed. */
  reconnect(): void {
    this.#connection.reconnect();
  }

  /**
   * Resolves when the link is open. Rejects with the reason when it is closed for good, or after `timeoutMs` while the
   * attempts go on.
   */
  opened(timeoutMs: number): Promise<void> {
    return this.#connection.opened(timeoutMs);
  }

  /**
   * Follows a session from byte `from` on: every byte once and in order, over any number of reconnects. `flags` are
   * SubscribeFlag's, Offsets is added. Throws `session_exists` if this socket follows it already.
   */
  attach(sessionId: string, request: AttachmentRequest, handlers: AttachmentHandlers): Attachment {
    return this.#attachments.attach(sessionId, request, handlers);
  }

  /**
   * Subscribes to the events of all sessions and of the server. The first event on every link is `connected`; a listener
   * that reads the server's state after it misses nothing.
   */
  subscribeGlobal(listener: (event: ServerEvent) => void): Disposable {
    const listening = this.#serverEvents.on(listener);
    if (this.#serverEvents.size === 1) this.#subscribeGlobal();
    return {
      [Symbol.dispose]: () => {
        const before = this.#serverEvents.size;
        listening[Symbol.dispose]();
        if (before === 1 && this.#serverEvents.size === 0) this.#send(FrameType.UNSUBSCRIBE);
      },
    };
  }

  /** Closes the link for good. Pending commands are rejected, and the handlers are not called any more. */
  [Symbol.dispose](): void {
    this.#attachments.clear();
    this.#connection[Symbol.dispose]();
  }

  #opened(): void {
    this.#send(FrameType.HELLO, this.#hello);
    if (this.#serverEvents.size > 0) this.#subscribeGlobal();
    this.#attachments.subscribeAll();
    if (this.#hadLink) this.#reconnects.emit();
    this.#hadLink = true;
  }

  #lost(error: ServiceError): void {
    this.#attachments.lost();
    this.#commands.lost(error);
  }

  #subscribeGlobal(): void {
    this.#send(FrameType.SUBSCRIBE, encodeSubscribe({ flags: SubscribeFlag.Events }));
  }

  #send(type: FrameType, payload: Uint8Array = new Uint8Array()): void {
    this.#connection.link?.send(encodeFrame(type, "", payload));
  }

  #handle({ type, sessionId, payload }: Frame): void {
    if (type === FrameType.EVENT) this.#event(sessionId, payload);
    else if (type === FrameType.ERROR) this.#failed(sessionId, payload);
    else if (type === FrameType.PONG) this.#answered(readU32(payload, 0));
    else if (type === FrameType.GOAWAY) this.#connection.moveLater(decodeGoAway(payload));
  }

  #answered(ping: number): void {
    this.#commands.answered(ping);
    if (!this.#commands.isWaiting) this.#connection.move();
  }

  #event(sessionId: string, payload: Uint8Array): void {
    const decoded = decodeEvent(payload);
    if (decoded?.scope === "server") this.#serverEvents.emit(decoded.event);
    else if (decoded !== undefined) this.#attachments.get(sessionId)?.event(decoded.event);
  }

  #failed(sessionId: string, payload: Uint8Array): void {
    const { error, request } = decodeError(payload);
    // Older servers do not name the request. An ended session is no reason to refuse a SUBSCRIBE.
    const isLikely = request === undefined && error.code !== "session_not_running";
    if ((request === "subscribe" || isLikely) && this.#attachments.refused(sessionId, error)) return;
    if (request !== "subscribe" && this.#commands.failed(sessionId, error)) return;
    this.#attachments.get(sessionId)?.failed(error);
  }
}
