import type { ServiceError } from "../errors.ts";
import type { SessionEvent } from "../frame/event.ts";
import { decodeOutput, encodeOutputFrame, type Frame, withMagic } from "../frame/frame.ts";
import {
  decodeResync,
  encodeSubscribe,
  type Resync,
  type Subscribed,
  SubscribeFlag,
} from "../frame/payload.ts";

/** What is done with a session's output and events. None of them may throw or keep the caller waiting. */
export type AttachmentHandlers = {
  /** After every SUBSCRIBE, also one after a reconnect. */
  readonly onSubscribed?: (subscribed: Subscribed) => void;
  /** The bytes of output from `offset` on, and the whole VT OUTPUT frame that holds just these; neither may be changed. */
  readonly onOutput: (offset: number, bytes: Uint8Array, frame: Uint8Array) => void;
  /** Output before `offset` is not held any more: reset the terminal to that size and write the bytes to it. */
  readonly onResync: (resync: Resync) => void;
  readonly onEvent?: (event: SessionEvent) => void;
  /** A SNAPSHOT_VT payload, to those who asked for snapshots. */
  readonly onSnapshot?: (snapshot: Uint8Array) => void;
  /** With a status of 4xx other than 408 and 429 the attachment is over; else it is tried again. */
  readonly onError?: (error: ServiceError) => void;
};

/** Where one subscription stands: which byte is the next one, so that none is missed and none delivered twice. */
export class SubscriptionState {
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
    if (offset === next) this.handlers.onOutput(offset, bytes, wholeFrame(frame, message, offset, bytes));
    else this.#trimmed(next, bytes.subarray(next - offset));
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

  #trimmed(offset: number, bytes: Uint8Array): void {
    this.handlers.onOutput(offset, bytes, encodeOutputFrame(this.sessionId, offset, bytes));
  }
}

/** The message itself where it is just the frame, as it is from our own servers. */
function wholeFrame(frame: Frame, message: Uint8Array, offset: number, bytes: Uint8Array): Uint8Array {
  const { payload } = frame;
  const isExact = payload.byteOffset + payload.length === message.byteOffset + message.length;
  if (!isExact) return encodeOutputFrame(frame.sessionId, offset, bytes);
  return frame.magic === "VT" ? message : withMagic(message, "VT");
}
