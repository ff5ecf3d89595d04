import { OUTBOX_BYTES, OUTBOX_PAUSE_BYTES } from "../protocol/limits.ts";

/** The socket of one client, as far as the hub needs it. */
export type Peer = {
  /** One message, in order; `onSent` when it has left this process. The bytes must not change afterwards. */
  send(message: Uint8Array, onSent: () => void): void;
  /** Bytes that were given to `send` and have not left. */
  readonly bufferedBytes: number;
  /** Stops and goes on handing over what the client sends. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
  /** A ping of the WebSocket protocol; the answer is told to the viewer. */
  ping(): void;
  terminate(): void;
};

/** What waits for one client to read it: at most 4 MiB, because nothing is offered to it beyond `hasRoom`. */
export class Outbox {
  readonly #peer: Peer;
  readonly #now: () => number;
  readonly #onRoom: () => void;
  #fullSince: number | undefined;
  #lastPauseMs = 0;
  #isPaused = false;
  #bytes = 0;

  constructor(options: { peer: Peer; now: () => number; onRoom: () => void }) {
    this.#peer = options.peer;
    this.#now = options.now;
    this.#onRoom = options.onRoom;
  }

  get hasRoom(): boolean {
    return this.#bytes < OUTBOX_BYTES;
  }

  /** How long the client takes or took nothing, in ms, at the last time that the outbox was full. */
  get pauseMs(): number {
    return this.#fullSince === undefined ? this.#lastPauseMs : this.#now() - this.#fullSince;
  }

  send(message: Uint8Array): void {
    this.#bytes += message.length;
    if (!this.hasRoom) this.#fullSince ??= this.#now();
    if (this.#bytes > OUTBOX_PAUSE_BYTES && !this.#isPaused) {
      this.#isPaused = true;
      this.#peer.pause();
    }
    this.#peer.send(message, () => this.#sent(message.length));
  }

  #sent(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#isPaused && this.hasRoom) {
      this.#isPaused = false;
      this.#peer.resume();
    }
    if (!this.hasRoom) return;
    if (this.#fullSince !== undefined) {
      this.#lastPauseMs = this.#now() - this.#fullSince;
      this.#fullSince = undefined;
    }
    this.#onRoom();
  }
}
