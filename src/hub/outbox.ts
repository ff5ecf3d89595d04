import type { Magic } from "../protocol/frame/frame.ts";
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

/** Frames that wait until there is room. */
export type FrameSource = {
  /** The next frame; undefined when there is none now. */
  take(): Uint8Array | undefined;
};

/**
 * What waits for one client to read it. Frames of sources are taken while there is room, one of each source in turn, so
 * they are bounded by OUTBOX_BYTES and one frame. Answers and events go in at once; a client that leaves too many of
 * them unread is dropped.
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

  /** The client leaves so many answers unread that its requests should not be read either. */
  get isCrowded(): boolean {
    return this.#answerBytes > OUTBOX_PAUSE_BYTES;
  }

  /** How long the client takes or took nothing, in ms, at the last time that the outbox was full. */
  get pauseMs(): number {
    return this.#fullSince === undefined ? this.#lastPauseMs : this.#now() - this.#fullSince;
  }

  /** The source may have frames: they are sent now, or when there is room. */
  ready(source: FrameSource): void {
    this.#ready.add(source);
    this.#pump();
  }

  /** Nothing more is taken from the source, unless it is ready again. */
  remove(source: FrameSource): void {
    this.#ready.delete(source);
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
