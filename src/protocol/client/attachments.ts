// The sessions that a connection follows, and the position in the output of each.
import { ServiceError } from "../errors.ts";
import type { SessionEvent } from "../frame/event.ts";
import {
  decodeFrame,
  decodeOutput,
  encodeFrame,
  encodeOutputFrame,
  type Frame,
  FrameError,
  FrameType,
  PayloadError,
  withMagic,
} from "../frame/frame.ts";
import {
  decodeResync,
  decodeSubscribed,
  encodeSubscribe,
  type Resync,
  type Subscribed,
  SubscribeFlag,
} from "../frame/payload.ts";
import { MAX_SUBSCRIPTIONS } from "../limits.ts";
import { isFinal, type Link } from "./link.ts";

/** `bytes` are the output from `offset` on, `frame` is a VT OUTPUT frame of exactly these; neither may be changed. */
export type ReceivedOutput = {
  readonly kind: "output";
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly frame: Uint8Array;
};

/** Handlers of one session's output and events. They must not throw. */
export type AttachmentHandlers = {
  /** Called after every SUBSCRIBE, also after a reconnect. */
  readonly onSubscribed?: (subscribed: Subscribed) => void;
  readonly onOutput: (output: ReceivedOutput) => void;
  /** Output before `offset` is not held any more: reset the terminal to that size and write the bytes to it. */
  readonly onResync: (resync: Resync) => void;
  readonly onEvent?: (event: SessionEvent) => void;
  /** A SNAPSHOT_VT payload, if the flags request snapshots. */
  readonly onSnapshot?: (snapshot: Uint8Array) => void;
  /** A final error (`isFinal`) ends the attachment; otherwise the subscription is retried. */
  readonly onError?: (error: ServiceError) => void;
};

/** Disposing it ends the subscription. */
export type Attachment = Disposable &
  Pick<AttachedSession, "sessionId" | "next" | "pause" | "resume" | "request">;

export type AttachmentRequest = { readonly from: number | "live"; readonly flags?: number };

/** The parts of the connection that its attachments use. */
type AttachmentsOptions = {
  /** The open link; `undefined` if there is none. */
  readonly link: () => Link | undefined;
  /** See CommandSender.unsubscribe. */
  readonly unsubscribe: (sessionId: string, left: () => void) => void;
  /** Drops the link. */
  readonly fail: (error: ServiceError) => void;
  /** Handles all other frames. */
  readonly onFrame: (frame: Frame) => void;
  readonly resubscribeMs: number;
};

export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #attachments = new Map<string, AttachedSession>();
  /** Sessions with an UNSUBSCRIBE that is not confirmed yet: output of the former subscription may still arrive. */
  readonly #leaving = new Map<string, object>();
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** Handles a binary message of the link. After a malformed one the link cannot be trusted. */
  readonly receive = (message: Uint8Array): void => {
    try {
      this.#dispatch(decodeFrame(message), message);
    } catch (cause) {
      if (!(cause instanceof FrameError || cause instanceof PayloadError)) throw cause;
      this.#options.fail(new ServiceError("host_unreachable", `bad frame: ${cause.message}`, { cause }));
    }
  };

  get(sessionId: string): AttachedSession | undefined {
    return this.#attachments.get(sessionId);
  }

  /** See SessionSocket.attach. */
  attach(sessionId: string, request: AttachmentRequest, handlers: AttachmentHandlers): Attachment {
    if (this.#attachments.has(sessionId)) {
      throw new ServiceError("session_exists", `session ${sessionId} is attached already`);
    }
    if (this.#attachments.size >= MAX_SUBSCRIPTIONS) {
      throw new ServiceError("too_many_subscriptions", `more than ${MAX_SUBSCRIPTIONS} attachments`);
    }
    const attachment = new AttachedSession(sessionId, request, handlers, {
      subscribe: () => this.#subscribe(attachment),
      unsubscribe: () => this.#unsubscribe(sessionId),
      remove: () => void this.#attachments.delete(sessionId),
    });
    this.#attachments.set(sessionId, attachment);
    this.#subscribe(attachment);
    return attachment;
  }

  /** Subscribes to all sessions without a subscription, as on a new link. */
  subscribeAll(): void {
    for (const attachment of this.#attachments.values()) this.#subscribe(attachment);
  }

  /** The link is lost. */
  lost(): void {
    for (const attachment of this.#attachments.values()) attachment.unsubscribed();
    this.#leaving.clear();
  }

  /** The handlers are not called any more. */
  clear(): void {
    clearTimeout(this.#retry);
    this.#attachments.clear();
  }

  /** Handles an ERROR that refuses a SUBSCRIBE; false if no SUBSCRIBE of the session waits for its answer. */
  refused(sessionId: string, error: ServiceError): boolean {
    const attachment = this.#attachments.get(sessionId);
    if (attachment?.isSubscribing !== true) return false;
    if (isFinal(error)) attachment.refused();
    else {
      attachment.unsubscribed();
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.subscribeAll();
      }, this.#options.resubscribeMs);
    }
    attachment.handlers.onError?.(error);
    return true;
  }

  #dispatch(frame: Frame, message: Uint8Array): void {
    const attachment = this.#attachments.get(frame.sessionId);
    const { type, payload } = frame;
    if (type === FrameType.OUTPUT) attachment?.output(frame, message);
    else if (type === FrameType.SUBSCRIBED) attachment?.subscribed(decodeSubscribed(payload));
    else if (type === FrameType.RESYNC) attachment?.resync(payload);
    else if (type === FrameType.SNAPSHOT_VT) attachment?.snapshot(payload);
    else this.#options.onFrame(frame);
  }

  #subscribe(attachment: AttachedSession): void {
    const link = this.#options.link();
    if (link === undefined || !attachment.isIdle || this.#leaving.has(attachment.sessionId)) return;
    link.send(encodeFrame(FrameType.SUBSCRIBE, attachment.sessionId, attachment.begin()));
  }

  #unsubscribe(sessionId: string): void {
    if (this.#options.link() === undefined) return;
    const latest = {};
    this.#leaving.set(sessionId, latest);
    this.#options.unsubscribe(sessionId, () => {
      if (this.#leaving.get(sessionId) !== latest) return;
      this.#leaving.delete(sessionId);
      const attachment = this.#attachments.get(sessionId);
      if (attachment !== undefined) this.#subscribe(attachment);
    });
  }
}

/**
 * `idle`: to be subscribed when there is a link. `ended`: the session has ended, and there is nothing more unless other
 * flags are requested.
 */
type Phase = "idle" | "subscribing" | "live" | "paused" | "ended" | "refused" | "disposed";
type Actions = Readonly<Record<"subscribe" | "unsubscribe" | "remove", () => void>>;

/** One session's output as it arrives, no byte missing and none twice. */
export class AttachedSession implements Disposable {
  readonly sessionId: string;
  readonly handlers: AttachmentHandlers;
  readonly #actions: Actions;
  #flags: number;
  #next: number | "live";
  #phase: Phase = "idle";

  constructor(sessionId: string, request: AttachmentRequest, handlers: AttachmentHandlers, actions: Actions) {
    this.sessionId = sessionId;
    this.handlers = handlers;
    this.#actions = actions;
    this.#next = request.from;
    this.#flags = (request.flags ?? SubscribeFlag.Stdout | SubscribeFlag.Events) | SubscribeFlag.Offsets;
  }

  /** Offset of the next byte; "live" until the server has answered with it. */
  get next(): number | "live" {
    return this.#next;
  }

  get isIdle(): boolean {
    return this.#phase === "idle";
  }

  get isSubscribing(): boolean {
    return this.#phase === "subscribing";
  }

  /** Stops the output until `resume`, which continues at the same byte. For readers that cannot keep up. */
  pause(): void {
    if (this.#phase !== "idle" && this.#phase !== "subscribing" && this.#phase !== "live") return;
    this.#phase = "paused";
    this.#actions.unsubscribe();
  }

  resume(): void {
    if (this.#phase === "paused") this.#restart();
  }

  /** Requests other flags; `onSubscribed` is called with the answer. Output that was not requested before begins live. */
  request(flags: number): void {
    if (this.#phase === "refused" || this.#phase === "disposed") return;
    if ((this.#flags & SubscribeFlag.Stdout) === 0) this.#next = "live";
    this.#flags = flags | SubscribeFlag.Offsets;
    if (this.#phase !== "paused") this.#restart();
  }

  [Symbol.dispose](): void {
    if (this.#phase === "disposed") return;
    this.#phase = "disposed";
    this.#actions.remove();
    this.#actions.unsubscribe();
  }

  /** The payload of a SUBSCRIBE from the current position; output is ignored until the answer. */
  begin(): Uint8Array {
    this.#phase = "subscribing";
    return encodeSubscribe({ flags: this.#flags, from: this.#next });
  }

  /** The link is lost, or the subscription was refused for now. */
  unsubscribed(): void {
    if (this.#phase === "subscribing" || this.#phase === "live") this.#phase = "idle";
  }

  /** The subscription was refused for good. */
  refused(): void {
    this.#phase = "refused";
  }

  subscribed(answer: Subscribed): void {
    if (this.#phase !== "subscribing") return;
    this.#phase = "live";
    if (this.#next === "live") this.#next = answer.offset;
    this.handlers.onSubscribed?.(answer);
  }

  /** Handles an OUTPUT frame and its message; bytes that were delivered before are cut off. */
  output(frame: Frame, message: Uint8Array): void {
    const { offset, bytes } = decodeOutput(frame.payload);
    const next = this.#next;
    if (this.#phase !== "live" || next === "live" || offset + bytes.length <= next) return;
    if (offset > next) throw new PayloadError(`bytes are missing in the output of session ${this.sessionId}`);
    this.#next = offset + bytes.length;
    const isWhole = offset === next;
    const fresh = isWhole ? bytes : bytes.subarray(next - offset);
    const received = isWhole ? exactFrame(frame, message) : undefined;
    const whole = received ?? encodeOutputFrame(this.sessionId, next, fresh);
    this.handlers.onOutput({ kind: "output", offset: next, bytes: fresh, frame: whole });
  }

  resync(payload: Uint8Array): void {
    if (this.#phase !== "live") return;
    const resync = decodeResync(payload);
    this.#next = resync.offset;
    this.handlers.onResync(resync);
  }

  event(event: SessionEvent): void {
    if (this.#phase !== "live") return;
    if (event.kind === "exit") this.#phase = "ended";
    this.handlers.onEvent?.(event);
  }

  snapshot(payload: Uint8Array): void {
    // The last screen may follow the exit.
    if (this.#phase === "live" || this.#phase === "ended") this.handlers.onSnapshot?.(payload);
  }

  /** Handles an ERROR of the session that refers to no request. */
  failed(error: ServiceError): void {
    if (this.#phase === "live") this.handlers.onError?.(error);
  }

  #restart(): void {
    this.#phase = "idle";
    this.#actions.subscribe();
  }
}

/** The message as a VT frame, if it is nothing else, as those of our own servers. */
function exactFrame({ payload, magic }: Frame, message: Uint8Array): Uint8Array | undefined {
  const isExact = payload.byteOffset + payload.length === message.byteOffset + message.length;
  if (!isExact) return undefined;
  return magic === "VT" ? message : withMagic(message, "VT");
}
