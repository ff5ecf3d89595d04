// The sessions that one connection follows: which are subscribed on its link, and where the output of each stands.
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
import type { Link } from "./link.ts";
import { isFinal } from "./link-error.ts";

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

/** `bytes` are the output from `offset` on, `frame` the whole VT OUTPUT frame of just these; neither may be changed. */
export type ReceivedOutput = {
  readonly kind: "output";
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly frame: Uint8Array;
};

/** Handlers of one session's output and events. None of them may throw or keep the caller waiting. */
export type AttachmentHandlers = {
  /** After every SUBSCRIBE, also one after a reconnect. */
  readonly onSubscribed?: (subscribed: Subscribed) => void;
  readonly onOutput: (output: ReceivedOutput) => void;
  /** Output before `offset` is not held any more: reset the terminal to that size and write the bytes to it. */
  readonly onResync: (resync: Resync) => void;
  readonly onEvent?: (event: SessionEvent) => void;
  /** A SNAPSHOT_VT payload, to those who asked for snapshots. */
  readonly onSnapshot?: (snapshot: Uint8Array) => void;
  /** With a status of 4xx other than 408 and 429 the attachment is over; else it is tried again. */
  readonly onError?: (error: ServiceError) => void;
};

/** What the attachments use of the connection that they share. */
export type AttachmentLink = {
  /** The open link, `undefined` while there is none. */
  readonly link: () => Link | undefined;
  /** Ends a subscription; `left` is called when the server has dealt with it. */
  readonly unsubscribe: (sessionId: string, left: () => void) => void;
  /** Gives the link up. */
  readonly fail: (error: ServiceError) => void;
  /** Frames that are not about one subscription. */
  readonly onFrame: (frame: Frame) => void;
  /** Milliseconds before a SUBSCRIBE that was refused for now is repeated. */
  readonly resubscribeMs: number;
};

export class Attachments {
  readonly #options: AttachmentLink;
  readonly #states = new Map<string, SubscriptionState>();
  /** Sessions whose last subscription may still send something. */
  readonly #leaving = new Map<string, object>();
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(options: AttachmentLink) {
    this.#options = options;
  }

  /** As SessionSocket.attach. */
  attach(
    sessionId: string,
    request: { readonly from: number | "live"; readonly flags?: number },
    handlers: AttachmentHandlers,
  ): Attachment {
    if (this.#states.has(sessionId)) {
      throw new ServiceError("session_exists", `session ${sessionId} is attached already`);
    }
    if (this.#states.size >= MAX_SUBSCRIPTIONS) {
      throw new ServiceError("too_many_subscriptions", `more than ${MAX_SUBSCRIPTIONS} attachments`);
    }
    const flags = request.flags ?? SubscribeFlag.Stdout | SubscribeFlag.Events;
    const state = new SubscriptionState(sessionId, { from: request.from, flags }, handlers);
    this.#states.set(sessionId, state);
    this.#subscribe(state);
    return this.#attachmentOf(state);
  }

  /** Subscribes to all of them that are not yet, as on a new link. */
  subscribeAll(): void {
    for (const state of this.#states.values()) this.#subscribe(state);
  }

  /** The link is gone. */
  lost(): void {
    for (const state of this.#states.values()) state.end();
    this.#leaving.clear();
  }

  /** Handlers hear nothing more. */
  clear(): void {
    clearTimeout(this.#again);
    this.#states.clear();
  }

  /** A binary message of the link. */
  readonly receive = (message: Uint8Array): void => {
    try {
      this.#dispatch(decodeFrame(message), message);
    } catch (cause) {
      if (!(cause instanceof FrameError || cause instanceof PayloadError)) throw cause;
      this.#options.fail(new ServiceError("host_unreachable", `bad frame: ${cause.message}`, { cause }));
    }
  };

  event(sessionId: string, event: SessionEvent): void {
    this.#states.get(sessionId)?.event(event);
  }

  /** Whether the ERROR refuses a SUBSCRIBE. `isLikely`: an older server does not say; then what is likely counts. */
  refused(sessionId: string, error: ServiceError, isLikely: boolean): boolean {
    const state = this.#states.get(sessionId);
    if (!isLikely || !state?.isSubscribing) return false;
    if (isFinal(error)) state.finish();
    else {
      state.end();
      this.#again ??= setTimeout(() => {
        this.#again = undefined;
        this.subscribeAll();
      }, this.#options.resubscribeMs);
    }
    state.handlers.onError?.(error);
    return true;
  }

  /** An ERROR about the session that answers nothing. */
  failed(sessionId: string, error: ServiceError): void {
    const state = this.#states.get(sessionId);
    if (state?.isLive) state.handlers.onError?.(error);
  }

  #attachmentOf(state: SubscriptionState): Attachment {
    const isHeld = (): boolean => this.#states.get(state.sessionId) === state;
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
        this.#states.delete(state.sessionId);
        state.finish();
        this.#unsubscribe(state.sessionId);
      },
    };
  }

  #subscribe(state: SubscriptionState): void {
    const link = this.#options.link();
    // What is still to come of an earlier subscription to this session must not be taken for this one's.
    if (link === undefined || !state.isIdle || this.#leaving.has(state.sessionId)) return;
    link.send(encodeFrame(FrameType.SUBSCRIBE, state.sessionId, state.begin()));
  }

  #unsubscribe(sessionId: string): void {
    if (this.#options.link() === undefined) return;
    const token = {};
    this.#leaving.set(sessionId, token);
    this.#options.unsubscribe(sessionId, () => {
      if (this.#leaving.get(sessionId) !== token) return;
      this.#leaving.delete(sessionId);
      const state = this.#states.get(sessionId);
      if (state !== undefined) this.#subscribe(state);
    });
  }

  #dispatch(frame: Frame, message: Uint8Array): void {
    const state = this.#states.get(frame.sessionId);
    const { type, payload } = frame;
    if (type === FrameType.OUTPUT) {
      if (state !== undefined && !state.output(frame, message)) this.#options.fail(missingBytes(state));
    } else if (type === FrameType.SUBSCRIBED) state?.subscribed(decodeSubscribed(payload));
    else if (type === FrameType.RESYNC) state?.resync(payload);
    else if (type === FrameType.SNAPSHOT_VT) state?.snapshot(payload);
    else this.#options.onFrame(frame);
  }
}

function missingBytes({ sessionId }: SubscriptionState): ServiceError {
  return new ServiceError("host_unreachable", `bytes are missing in the output of session ${sessionId}`);
}

/** Where one subscription stands: which byte is the next one, so that none is missed and none delivered twice. */
class SubscriptionState {
  readonly sessionId: string;
  readonly handlers: AttachmentHandlers;
  #flags: number;
  #next: number | "live";
  /** `ended`: the session is, and nothing comes any more unless something else is asked for. */
  #phase: "idle" | "subscribing" | "live" | "paused" | "ended" | "over" = "idle";

  constructor(
    sessionId: string,
    request: { readonly from: number | "live"; readonly flags: number },
    handlers: AttachmentHandlers,
  ) {
    this.sessionId = sessionId;
    this.handlers = handlers;
    this.#next = request.from;
    this.#flags = request.flags | SubscribeFlag.Offsets;
  }

  /** The offset of the byte that comes next; "live" until the server has said where that is. */
  get next(): number | "live" {
    return this.#next;
  }

  /** To be subscribed, as soon as there is a link. */
  get isIdle(): boolean {
    return this.#phase === "idle";
  }

  get isSubscribing(): boolean {
    return this.#phase === "subscribing";
  }

  get isLive(): boolean {
    return this.#phase === "live";
  }

  /** The payload of the SUBSCRIBE that goes on where this stands; nothing is taken until it is answered. */
  begin(): Uint8Array {
    this.#phase = "subscribing";
    return encodeSubscribe({ flags: this.#flags, from: this.#next });
  }

  /**
   * Other flags, with the next SUBSCRIBE: output goes on at its byte, or begins with what comes from then on where there
   * was none. Returns whether that SUBSCRIBE is due.
   */
  request(flags: number): boolean {
    if ((this.#flags & SubscribeFlag.Stdout) === 0) this.#next = "live";
    this.#flags = flags | SubscribeFlag.Offsets;
    if (this.#phase === "paused" || this.#phase === "over") return false;
    this.#phase = "idle";
    return true;
  }

  /** The link is gone, or the subscription was refused for now. */
  end(): void {
    if (this.#phase === "subscribing" || this.#phase === "live") this.#phase = "idle";
  }

  /** The server refused it for good or nobody wants it any more: it is not subscribed again. */
  finish(): void {
    this.#phase = "over";
  }

  /** Returns whether that changed anything; so does `resume`. */
  pause(): boolean {
    if (this.#phase !== "idle" && this.#phase !== "subscribing" && this.#phase !== "live") return false;
    this.#phase = "paused";
    return true;
  }

  resume(): boolean {
    if (this.#phase !== "paused") return false;
    this.#phase = "idle";
    return true;
  }

  subscribed(answer: Subscribed): void {
    if (this.#phase !== "subscribing") return;
    this.#phase = "live";
    if (this.#next === "live") this.#next = answer.offset;
    this.handlers.onSubscribed?.(answer);
  }

  /**
   * One OUTPUT frame and the message that it came in. What was delivered before is trimmed. False if bytes are missing
   * in front of it: the server broke its word, and the link cannot be trusted.
   */
  output(frame: Frame, message: Uint8Array): boolean {
    const { offset, bytes } = decodeOutput(frame.payload);
    const next = this.#next;
    if (this.#phase !== "live" || next === "live" || offset + bytes.length <= next) return true;
    if (offset > next) return false;
    this.#next = offset + bytes.length;
    if (offset === next) {
      this.handlers.onOutput({
        kind: "output",
        offset,
        bytes,
        frame: wholeFrame(frame, message, offset, bytes),
      });
    } else {
      const fresh = bytes.subarray(next - offset);
      const whole = encodeOutputFrame(this.sessionId, next, fresh);
      this.handlers.onOutput({ kind: "output", offset: next, bytes: fresh, frame: whole });
    }
    return true;
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
    // The last screen may come after the exit.
    if (this.#phase === "live" || this.#phase === "ended") this.handlers.onSnapshot?.(payload);
  }
}

/** The message itself where it is just the frame, as it is from our own servers. */
function wholeFrame(frame: Frame, message: Uint8Array, offset: number, bytes: Uint8Array): Uint8Array {
  const { payload } = frame;
  const isExact = payload.byteOffset + payload.length === message.byteOffset + message.length;
  if (!isExact) return encodeOutputFrame(frame.sessionId, offset, bytes);
  return frame.magic === "VT" ? message : withMagic(message, "VT");
}
