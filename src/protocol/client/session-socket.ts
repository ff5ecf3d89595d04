// The only client of /ws: in the page, the command line, and servers whose sessions are in another process.
import { Emitter } from "../../lib/async/emitter.ts";
import { ServiceError } from "../errors.ts";
import { decodeEvent, type ServerEvent, type SessionEvent } from "../frame/event.ts";
import {
  badPayload,
  checkOffset,
  decodeFrame,
  decodeOutput,
  encodeFrame,
  encodeOutputFrame,
  type Frame,
  FrameType,
  isMalformed,
  readU32,
} from "../frame/frame.ts";
import {
  decodeError,
  decodeGoAway,
  decodeSubscribed,
  encodeJson,
  encodeSubscribe,
  type Subscribed,
  SubscribeFlag,
} from "../frame/payload.ts";
import { decodeResync, type Resync } from "../frame/resync.ts";
import { MAX_SUBSCRIPTIONS, RESUBSCRIBE_DELAY_MS } from "../limits.ts";
import type { SessionViewer } from "../schemas/viewer.ts";
import type { AttachmentHandlers, AttachmentRequest } from "./attachment.ts";
import { CommandSender } from "./command-sender.ts";
import { Connection, type ConnectionOptions, type ConnectionState } from "./connection.ts";
import { isFinal } from "./link.ts";

export type SessionSocketOptions = ConnectionOptions & {
  /** The client's name in the server's log: "page", "attach", "uplink". */
  readonly clientName: string;
  readonly version: string;
  /** The name that a guest gave. */
  readonly guestName?: () => string | undefined;
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
  readonly #options: SessionSocketOptions;
  readonly #connection: Connection;
  readonly #commands: CommandSender;
  readonly #attachments = new Map<string, AttachedSession>();
  /** Sessions with an UNSUBSCRIBE that is not confirmed yet: output of the former subscription may still arrive. */
  readonly #leaving = new Set<string>();
  #resubscribing: ReturnType<typeof setTimeout> | undefined;
  readonly #serverEvents = new Emitter<ServerEvent>();

  constructor(options: SessionSocketOptions) {
    this.#options = options;
    this.#connection = new Connection(options, {
      opened: () => this.#opened(),
      message: (message) => this.#received(message),
      leaving: () => this.#commands.settled(),
      lost: (error) => this.#lost(error),
    });
    const commands = new CommandSender(this.#connection);
    this.#commands = commands;
    this.write = commands.write.bind(commands);
    this.resize = commands.resize.bind(commands);
    this.kill = commands.kill.bind(commands);
    this.caughtUp = commands.caughtUp.bind(commands);
  }

  get state(): ConnectionState {
    return this.#connection.state;
  }

  onState(listener: (state: ConnectionState) => void): Disposable {
    return this.#connection.onState(listener);
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
   * Resolves when the link is open. Rejects with the reason when the link is closed for good, or after `timeoutMs`; unless
   * `isPatient`, which is the default, also while the server is silent or refuses. The attempts continue.
   */
  opened(timeoutMs: number, options?: { readonly isPatient: boolean }): Promise<void> {
    return this.#connection.opened(timeoutMs, options);
  }

  /**
   * Follows a session from byte `from` on: every byte once and in order, over any number of reconnects. `flags` are
   * SubscribeFlag's, Offsets is added. Throws `session_exists` if this socket follows it already.
   */
  attach(sessionId: string, request: AttachmentRequest, handlers: AttachmentHandlers): Attachment {
    if (this.#attachments.has(sessionId)) {
      throw new ServiceError("session_exists", `session ${sessionId} is attached already`);
    }
    if (this.#attachments.size >= MAX_SUBSCRIPTIONS) {
      throw new ServiceError("too_many_subscriptions", `more than ${MAX_SUBSCRIPTIONS} attachments`);
    }
    const attachment = new AttachedSession(sessionId, request, handlers, (changed) => this.#changed(changed));
    this.#attachments.set(sessionId, attachment);
    this.#subscribe(attachment);
    return attachment;
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
    clearTimeout(this.#resubscribing);
    this.#attachments.clear();
    this.#connection[Symbol.dispose]();
  }

  /** Tells the server the guest's name, which may have changed. */
  introduce(): void {
    const { clientName: client, version, guestName } = this.#options;
    this.#send(FrameType.HELLO, encodeJson({ client, version, name: guestName?.() }));
  }

  #opened(): void {
    this.introduce();
    if (this.#serverEvents.size > 0) this.#subscribeGlobal();
    this.#subscribeAll();
  }

  #lost(error: ServiceError): void {
    for (const attachment of this.#attachments.values()) attachment.unsubscribed();
    this.#leaving.clear();
    this.#commands.lost(error);
  }

  #changed(attachment: AttachedSession): void {
    const { phase, sessionId } = attachment;
    if (phase === "disposed") this.#attachments.delete(sessionId);
    if (phase === "idle") this.#subscribe(attachment);
    else this.#unsubscribe(sessionId);
  }

  #subscribeAll(): void {
    for (const attachment of this.#attachments.values()) this.#subscribe(attachment);
  }

  #subscribe(attachment: AttachedSession | undefined): void {
    if (attachment?.phase !== "idle" || this.#leaving.has(attachment.sessionId)) return;
    if (this.#connection.link === undefined) return;
    this.#connection.send(encodeFrame(FrameType.SUBSCRIBE, attachment.sessionId, attachment.begin()));
  }

  #unsubscribe(sessionId: string): void {
    if (this.#connection.link === undefined || this.#leaving.has(sessionId)) return;
    this.#leaving.add(sessionId);
    this.#commands.unsubscribe(sessionId, () => {
      this.#leaving.delete(sessionId);
      this.#subscribe(this.#attachments.get(sessionId));
    });
  }

  #subscribeGlobal(): void {
    this.#send(FrameType.SUBSCRIBE, encodeSubscribe({ flags: SubscribeFlag.Events }));
  }

  #send(type: FrameType, payload: Uint8Array = new Uint8Array()): void {
    this.#connection.send(encodeFrame(type, "", payload));
  }

  /** After a malformed message the link cannot be trusted. */
  #received(message: Uint8Array): void {
    try {
      this.#handle(decodeFrame(message), message);
    } catch (cause) {
      if (!isMalformed(cause)) throw cause;
      this.#connection.fail(new ServiceError("host_unreachable", `bad frame: ${cause.message}`, { cause }));
    }
  }

  #handle(frame: Frame, message: Uint8Array): void {
    const { type, sessionId, payload } = frame;
    const attachment = this.#attachments.get(sessionId);
    if (type === FrameType.OUTPUT) attachment?.output(frame, message);
    else if (type === FrameType.EVENT) this.#event(attachment, payload);
    else if (type === FrameType.SUBSCRIBED) attachment?.subscribed(decodeSubscribed(payload));
    else if (type === FrameType.RESYNC) attachment?.resync(decodeResync(payload));
    else if (type === FrameType.SNAPSHOT_VT) attachment?.snapshot(payload);
    else if (type === FrameType.ERROR) this.#failed(sessionId, payload);
    else if (type === FrameType.PONG) this.#commands.answered(readU32(payload, 0));
    else if (type === FrameType.GOAWAY) this.#connection.moveLater(decodeGoAway(payload));
  }

  #resubscribeLater(): void {
    this.#resubscribing ??= setTimeout(() => {
      this.#resubscribing = undefined;
      this.#subscribeAll();
    }, this.#options.resubscribeMs ?? RESUBSCRIBE_DELAY_MS);
  }

  #event(attachment: AttachedSession | undefined, payload: Uint8Array): void {
    const decoded = decodeEvent(payload);
    if (decoded?.scope === "server") this.#serverEvents.emit(decoded.event);
    else if (decoded?.scope === "viewers") attachment?.viewers(decoded.event.viewers);
    else if (decoded !== undefined) attachment?.event(decoded.event);
  }

  #failed(sessionId: string, payload: Uint8Array): void {
    const { error, request, frame } = decodeError(payload);
    const attachment = this.#attachments.get(sessionId);
    // Older servers name neither. An ended session is no reason to refuse a SUBSCRIBE.
    const isLikely = request === undefined && frame === undefined && error.code !== "session_not_running";
    if ((request === "subscribe" || isLikely) && attachment?.phase === "subscribing") {
      if (!isFinal(error)) this.#resubscribeLater();
      attachment.refused(error);
    } else if (request === "subscribe" || !this.#commands.failed(sessionId, error, frame)) {
      attachment?.failed(error);
    }
  }
}

/** Disposing it ends the subscription. */
export type Attachment = Disposable & Pick<AttachedSession, "next" | "pause" | "resume" | "request">;

/**
 * `idle`: to be subscribed when there is a link. `ended`: the session has ended, and there is nothing more unless other
 * flags are requested.
 */
type Phase = "idle" | "subscribing" | "live" | "paused" | "ended" | "refused" | "disposed";

/** One session's output as it arrives, no byte missing and none twice. */
class AttachedSession implements Disposable {
  readonly sessionId: string;
  readonly #handlers: AttachmentHandlers;
  readonly #changed: (attachment: AttachedSession) => void;
  readonly #minIntervalMs: number;
  #flags: number;
  #next: number | "live";
  #phase: Phase = "idle";

  /** `changed`: the phase became `idle`, `paused` or `disposed` at the caller's request. */
  constructor(
    sessionId: string,
    request: AttachmentRequest,
    handlers: AttachmentHandlers,
    changed: (attachment: AttachedSession) => void,
  ) {
    this.sessionId = sessionId;
    this.#handlers = handlers;
    this.#changed = changed;
    this.#next = request.from;
    this.#minIntervalMs = request.minIntervalMs ?? 0;
    this.#flags = (request.flags ?? SubscribeFlag.Stdout | SubscribeFlag.Events) | SubscribeFlag.Offsets;
  }

  /** Offset of the next byte; "live" until the server has answered with it. */
  get next(): number | "live" {
    return this.#next;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Stops the output until `resume`, which continues at the same byte. For readers that cannot keep up. */
  pause(): void {
    const { phase } = this;
    if (phase === "idle" || phase === "subscribing" || phase === "live") this.#change("paused");
  }

  resume(): void {
    if (this.#phase === "paused") this.#change("idle");
  }

  /** Requests other flags; `onSubscribed` is called with the answer. Output that was not requested before begins live. */
  request(flags: number): void {
    if (this.#phase === "refused" || this.#phase === "disposed") return;
    if ((this.#flags & SubscribeFlag.Stdout) === 0) this.#next = "live";
    this.#flags = flags | SubscribeFlag.Offsets;
    if (this.#phase !== "paused") this.#change("idle");
  }

  [Symbol.dispose](): void {
    if (this.#phase !== "disposed") this.#change("disposed");
  }

  /** The payload of a SUBSCRIBE from the current position; output is ignored until the answer. */
  begin(): Uint8Array {
    this.#phase = "subscribing";
    return encodeSubscribe({ flags: this.#flags, from: this.#next, minIntervalMs: this.#minIntervalMs });
  }

  /** The link is lost. */
  unsubscribed(): void {
    if (this.#phase === "subscribing" || this.#phase === "live") this.#phase = "idle";
  }

  /** The subscription was refused, for now or for good. */
  refused(error: ServiceError): void {
    this.#phase = isFinal(error) ? "refused" : "idle";
    this.#handlers.onError?.(error);
  }

  subscribed(answer: Subscribed): void {
    if (this.#phase !== "subscribing") return;
    this.#phase = "live";
    if (this.#next === "live") this.#next = answer.offset;
    this.#handlers.onSubscribed?.(answer);
  }

  /** Handles an OUTPUT frame and its message; bytes that were delivered before are cut off. */
  output(frame: Frame, message: Uint8Array): void {
    const { offset, bytes } = decodeOutput(frame.payload);
    const end = checkOffset(offset + bytes.length);
    const next = this.#next;
    if (this.#phase !== "live" || next === "live" || end <= next) return;
    if (offset > next) throw badPayload(`bytes are missing in the output of session ${this.sessionId}`);
    this.#next = end;
    const fresh = bytes.subarray(next - offset);
    const isWhole = offset === next && isExact(frame, message);
    const whole = isWhole ? message : encodeOutputFrame(this.sessionId, next, fresh);
    this.#handlers.onOutput({ kind: "output", offset: next, bytes: fresh, frame: whole });
  }

  resync(resync: Resync): void {
    if (this.#phase !== "live") return;
    this.#next = resync.offset;
    this.#handlers.onResync(resync);
  }

  event(event: SessionEvent): void {
    if (this.#phase !== "live") return;
    if (event.kind === "exit") this.#phase = "ended";
    this.#handlers.onEvent?.(event);
  }

  viewers(viewers: readonly SessionViewer[]): void {
    if (this.#phase === "live" || this.#phase === "ended") this.#handlers.onViewers?.(viewers);
  }

  snapshot(payload: Uint8Array): void {
    // The last screen may follow the exit.
    if (this.#phase === "live" || this.#phase === "ended") this.#handlers.onSnapshot?.(payload);
  }

  /** Handles an ERROR of the session that refers to no request. */
  failed(error: ServiceError): void {
    if (this.#phase === "live") this.#handlers.onError?.(error);
  }

  #change(phase: Phase): void {
    this.#phase = phase;
    this.#changed(this);
  }
}

/** Whether the message is a VT frame and nothing else, as those of our own servers. */
function isExact({ payload, magic }: Frame, message: Uint8Array): boolean {
  return magic === "VT" && payload.byteOffset + payload.length === message.byteOffset + message.length;
}
