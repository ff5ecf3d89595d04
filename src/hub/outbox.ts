import { MAX_UNREAD_ANSWER_BYTES, OUTBOX_BYTES, OUTBOX_PAUSE_BYTES } from "../protocol/limits.ts";
import { Traffic } from "./traffic.ts";

/** The socket of one client, as far as the hub needs it. */
export type Peer = {
  /** One message, in order; `onSent` when it has left this process. The bytes must not change afterwards. */
  send(message: Uint8Array, onSent: () => void): void;
  /** Stops and goes on handing over what the client sends. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
  /** A ping of the WebSocket protocol; the answer is told to the viewer. */
  ping(): void;
  terminate(): void;
};

/**
 * What waits for one client to read it. Output is offered while `hasRoom`, so it is bounded by OUTBOX_BYTES and one
 * frame; answers and events go in whatever it holds, and a client that leaves too many of them unread is dropped.
 */
export class Outbox {
  readonly #peer: Pick<Peer, "send" | "terminate">;
  readonly #now: () => number;
  readonly #onSent: () => void;
  readonly #traffic: Traffic;
  #fullSince: number | undefined;
  #lastPauseMs = 0;
  #bytes = 0;
  #answerBytes = 0;

  /** `onSent`: the client has taken something. `now` in milliseconds, monotonic. */
  constructor(options: {
    peer: Pick<Peer, "send" | "terminate">;
    now: () => number;
    onSent: () => void;
    traffic?: Traffic;
  }) {
    this.#peer = options.peer;
    this.#now = options.now;
    this.#onSent = options.onSent;
    this.#traffic = options.traffic ?? new Traffic();
  }

  /** What was sent and has not left this process, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get hasRoom(): boolean {
    return this.#bytes < OUTBOX_BYTES;
  }

  /** The client leaves so many answers unread that its requests should not be read either. */
  get isCrowded(): boolean {
    return this.#answerBytes > OUTBOX_PAUSE_BYTES;
  }

  /** How long the client takes or took nothing, in ms, at the last time that the outbox was full. */
  get pauseMs(): number {
    return this.#fullSince === undefined ? this.#lastPauseMs : this.#now() - this.#fullSince;
  }

  /** Output. */
  offer(message: Uint8Array): void {
    this.#send(message, 0);
  }

  /** An answer, or an event that nobody waited for. */
  answer(message: Uint8Array): void {
    if (this.#answerBytes <= MAX_UNREAD_ANSWER_BYTES) {
      this.#send(message, message.length);
      return;
    }
    this.#traffic.droppedUnread += 1;
    this.#peer.terminate();
  }

  #send(message: Uint8Array, answerBytes: number): void {
    this.#bytes += message.length;
    this.#answerBytes += answerBytes;
    this.#traffic.framesOut += 1;
    this.#traffic.bytesOut += message.length;
    if (!this.hasRoom) this.#fullSince ??= this.#now();
    this.#peer.send(message, () => this.#sent(message.length, answerBytes));
  }

  #sent(bytes: number, answerBytes: number): void {
    this.#bytes -= bytes;
    this.#answerBytes -= answerBytes;
    if (this.hasRoom && this.#fullSince !== undefined) {
      this.#lastPauseMs = this.#now() - this.#fullSince;
      this.#fullSince = undefined;
    }
    this.#onSent();
  }
}
