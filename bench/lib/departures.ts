import { SessionSocket } from "../../src/protocol/client/session-socket.ts";
import type { ServerEvent } from "../../src/protocol/frame/event.ts";
import { openLink } from "../../src/remote/uplink.ts";

const CONNECT_TIMEOUT_MS = 10_000;

/** Counts the remotes that an HQ reports as left, like an open page. */
export class Departures implements Disposable {
  readonly #socket: SessionSocket;
  #count = 0;

  /** Resolves when the HQ has accepted the subscription. */
  static async watch(hq: string): Promise<Departures> {
    const departures = new Departures(hq);
    await departures.#socket.opened(CONNECT_TIMEOUT_MS);
    return departures;
  }

  private constructor(hq: string) {
    this.#socket = new SessionSocket({
      open: (handlers, signal) => openLink({ url: hq, headers: {} }, handlers, signal),
      clientName: "bench",
      version: "0.0.0",
    });
    this.#socket.subscribeGlobal(({ type }: ServerEvent) => {
      if (type === "remote-left") this.#count++;
    });
  }

  get count(): number {
    return this.#count;
  }

  [Symbol.dispose](): void {
    this.#socket[Symbol.dispose]();
  }
}
