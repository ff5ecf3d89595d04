// One session that a SessionSocket follows, and the position in its output.
import type { ServiceError } from "../errors.ts";
import type { SessionEvent } from "../frame/event.ts";
import { decodeOutput, encodeOutputFrame, type Frame, PayloadError, withMagic } from "../frame/frame.ts";
import { encodeSubscribe, type Resync, type Subscribed, SubscribeFlag } from "../frame/payload.ts";
import { isFinal } from "./link.ts";

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
export type Attachment = Disposable & Pick<AttachedSession, "next" | "pause" | "resume" | "request">;

export type AttachmentRequest = { readonly from: number | "live"; readonly flags?: number };

/**
 * `idle`: to be subscribed when there is a link. `ended`: the session has ended, and there is nothing more unless other
 * flags are requested.
 */
type Phase = "idle" | "subscribing" | "live" | "paused" | "ended" | "refused" | "disposed";

/** One session's output as it arrives, no byte missing and none twice. */
export class AttachedSession implements Disposable {
  readonly sessionId: string;
  readonly #handlers: AttachmentHandlers;
  readonly #changed: (attachment: AttachedSession) => void;
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
    return encodeSubscribe({ flags: this.#flags, from: this.#next });
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
    const next = this.#next;
    if (this.#phase !== "live" || next === "live" || offset + bytes.length <= next) return;
    if (offset > next) throw new PayloadError(`bytes are missing in the output of session ${this.sessionId}`);
    this.#next = offset + bytes.length;
    const isWhole = offset === next;
    const fresh = isWhole ? bytes : bytes.subarray(next - offset);
    const received = isWhole ? exactFrame(frame, message) : undefined;
    const whole = received ?? encodeOutputFrame(this.sessionId, next, fresh);
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

/** The message as a VT frame, if it is nothing else, as those of our own servers. */
function exactFrame({ payload, magic }: Frame, message: Uint8Array): Uint8Array | undefined {
  const isExact = payload.byteOffset + payload.length === message.byteOffset + message.length;
  if (!isExact) return undefined;
  return magic === "VT" ? message : withMagic(message, "VT");
}
