// The one client of /ws: of the page, of the command line and of every server that has its sessions elsewhere.
import { Emitter } from "../../lib/async/emitter.ts";
import type { ServiceError } from "../errors.ts";
import { decodeError } from "../frame/error-decoder.ts";
import type { ServerEvent } from "../frame/event.ts";
import { decodeEvent } from "../frame/event-decoder.ts";
import { encodeFrame, type Frame, FrameType, readU32 } from "../frame/frame.ts";
import { decodeGoAway, encodeJson, encodeSubscribe, SubscribeFlag } from "../frame/payload.ts";
import { RESUBSCRIBE_DELAY_MS } from "../limits.ts";
import { type Attachment, type AttachmentHandlers, Attachments } from "./attachments.ts";
import { CommandSender } from "./command-sender.ts";
import { Connection, type ConnectionOptions, type ConnectionState } from "./connection.ts";

export type SessionSocketOptions = ConnectionOptions & {
  /** Who this is, for the server's log: "page", "attach", "uplink". */
  readonly clientName: string;
  readonly version: string;
  /** Milliseconds. */
  readonly resubscribeMs?: number;
};

/**
 * One connection to /ws for any number of sessions. It reconnects by itself and resumes every attachment at the byte
 * where it stood. Commands are sent at once or refused, never kept for later: what somebody typed before a cut must
 * not reach a program after it.
 * Bounds: MAX_SUBSCRIPTIONS attachments, MAX_PENDING_COMMANDS commands without an answer, MAX_UNSENT_BYTES in the link.
 */
export class SessionSocket implements Disposable {
  /**
   * Types bytes into a session. Resolves when the server has dealt with them. Rejects with the server's error; with
   * `host_unreachable` at once when there is no link, or later when the link is lost: then it is not known whether the
   * input arrived.
   */
  readonly write: CommandSender["write"];
  /** As `write`. */
  readonly resize: CommandSender["resize"];
  /** As `write`. */
  readonly kill: CommandSender["kill"];
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
      onFrame: (frame) => this.#received(frame),
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
    return this.#attachments.attach(sessionId, request, handlers);
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
    this.#attachments.clear();
    this.#connection[Symbol.dispose]();
  }

  #opened(): void {
    this.#send(FrameType.HELLO, "", this.#hello);
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
    this.#send(FrameType.SUBSCRIBE, "", encodeSubscribe({ flags: SubscribeFlag.Events }));
  }

  #send(type: number, sessionId: string, payload: Uint8Array = new Uint8Array()): void {
    this.#connection.link?.send(encodeFrame(type, sessionId, payload));
  }

  #received({ type, sessionId, payload }: Frame): void {
    if (type === FrameType.PONG) this.#answered(readU32(payload, 0));
    else if (type === FrameType.GOAWAY) this.#connection.moveLater(decodeGoAway(payload));
    else if (type === FrameType.ERROR) this.#failed(sessionId, payload);
    else if (type === FrameType.EVENT) this.#event(sessionId, payload);
  }

  #answered(ping: number): void {
    this.#commands.answered(ping);
    if (!this.#commands.isWaiting) this.#connection.move();
  }

  #event(sessionId: string, payload: Uint8Array): void {
    const decoded = decodeEvent(payload);
    if (decoded?.scope === "server") this.#serverEvents.emit(decoded.event);
    else if (decoded !== undefined) this.#attachments.event(sessionId, decoded.event);
  }

  #failed(sessionId: string, payload: Uint8Array): void {
    const { error, request } = decodeError(payload);
    // An older server does not say what its error answers. No SUBSCRIBE is refused because the session has ended.
    const isLikely = request === undefined && error.code !== "session_not_running";
    if (this.#attachments.refused(sessionId, error, request === "subscribe" || isLikely)) return;
    if (request === "subscribe" || this.#commands.failed(sessionId, error)) return;
    this.#attachments.failed(sessionId, error);
  }
}
