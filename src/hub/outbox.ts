import type { Magic } from "../protocol/frame/frame.ts";
import {
  MAX_UNREAD_ANSWER_BYTES,
  OUTBOX_BYTES,
  OUTBOX_PAUSE_BYTES,
  STALLED_AFTER_MS,
} from "../protocol/limits.ts";
import type { Traffic } from "./traffic.ts";

/** The part of a client's socket that the hub uses. */
export type Peer = {
  /** Sends a message, in order. `onSent` is called when it has left this process. The bytes must not change afterwards. */
  send(message: Uint8Array, onSent: () => void): void;
  /** Stops the client's messages; `resume` continues. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
  /** Sends a ping of the WebSocket protocol. The viewer is told of the answer. */
  ping(): void;
  terminate(): void;
};

export type FrameSource = {
  /** The next frame; undefined if there is none now. */
  take(): Uint8Array | undefined;
};

/**
 * The messages that one client has not read yet. Frames are taken from the sources in turn while there is room, so they are
 * bounded by OUTBOX_BYTES and one frame. Answers and events are added at once; a client that leaves too many of them
 * unread is disconnected.
 */
export class Outbox {
  /** The order of the first two bytes of every frame (contract 1.2). */
  magic: Magic = "VT";
  readonly #peer: Pick<Peer, "send" | "terminate">;
  readonly #now: () => number;
  readonly #onSent: () => void;
  readonly #traffic: Traffic;
  readonly #ready = new Set<FrameSource>();
  #fullSince: number | undefined;
  #lastPauseMs = 0;
  #bytes = 0;
  #answerBytes = 0;
  #isDropped = false;

  /** `onSent` is called when a message has left this process. `now` in milliseconds, monotonic. */
  constructor(options: {
    peer: Pick<Peer, "send" | "terminate">;
    now: () => number;
    onSent: () => void;
    traffic: Traffic;
  }) {
    this.#peer = options.peer;
    this.#now = options.now;
    this.#onSent = options.onSent;
    this.#traffic = options.traffic;
  }

  /** Bytes that have not left this process yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The client leaves so many answers unread that its requests are not read either. */
  get isCrowded(): boolean {
    return this.#answerBytes > OUTBOX_PAUSE_BYTES;
  }

  /** How long the outbox has been full, in ms, or was the last time. */
  get pauseMs(): number {
    return this.#fullSince === undefined ? this.#lastPauseMs : this.#now() - this.#fullSince;
  }

  /** The client reads nothing, and has not for a while. */
  get isStalled(): boolean {
    return this.#fullSince !== undefined && this.pauseMs > STALLED_AFTER_MS;
  }

  /** The source may have frames, which are taken now or when there is room. */
  ready(source: FrameSource): void {
    this.#ready.add(source);
    this.#pump();
  }

  /** Nothing is taken from the source until it is ready again. */
  remove(source: FrameSource): void {
    this.#ready.delete(source);
  }

  /** Sends an answer or an unsolicited event. */
  answer(message: Uint8Array): void {
    if (this.#answerBytes <= MAX_UNREAD_ANSWER_BYTES) {
      this.#send(message, message.length);
      return;
    }
    if (this.#isDropped) return;
    this.#isDropped = true;
    this.#traffic.droppedUnread += 1;
    this.#peer.terminate();
  }

  #pump(): void {
    while (this.#bytes < OUTBOX_BYTES) {
      const [source] = this.#ready;
      if (source === undefined) return;
      this.#ready.delete(source);
      const frame = source.take();
      if (frame === undefined) continue;
      this.#ready.add(source);
      this.#send(frame, 0);
    }
  }

  #send(message: Uint8Array, answerBytes: number): void {
    this.#bytes += message.length;
    this.#answerBytes += answerBytes;
    this.#traffic.framesOut += 1;
    this.#traffic.bytesOut += message.length;
    if (this.#bytes >= OUTBOX_BYTES) this.#fullSince ??= this.#now();
    this.#peer.send(message, () => this.#sent(message.length, answerBytes));
  }

  #sent(bytes: number, answerBytes: number): void {
    this.#bytes -= bytes;
    this.#answerBytes -= answerBytes;
    if (this.#bytes < OUTBOX_BYTES && this.#fullSince !== undefined) {
      this.#lastPauseMs = this.#now() - this.#fullSince;
      this.#fullSince = undefined;
    }
    this.#onSent();
    this.#pump();
  }
}
