import type { Peer } from "../outbox.ts";
import type { Traffic } from "../traffic.ts";

/** Whether a client still lives: one that is silent for two pings is dropped (contract 1.9). */
export class Heartbeat {
  readonly #peer: Pick<Peer, "ping" | "terminate">;
  readonly #traffic: Traffic;
  readonly #now: () => number;
  #lastHeardMs: number;

  /** `now` in milliseconds, monotonic. */
  constructor(options: { peer: Pick<Peer, "ping" | "terminate">; traffic: Traffic; now: () => number }) {
    this.#peer = options.peer;
    this.#traffic = options.traffic;
    this.#now = options.now;
    this.#lastHeardMs = options.now();
  }

  /** The client gave a sign of life. */
  heard(): void {
    this.#lastHeardMs = this.#now();
  }

  /** To be called each `intervalMs`. */
  beat(intervalMs: number): void {
    if (this.#now() - this.#lastHeardMs <= 2 * intervalMs) {
      this.#peer.ping();
      return;
    }
    this.#traffic.droppedSilent += 1;
    this.#peer.terminate();
  }
}
