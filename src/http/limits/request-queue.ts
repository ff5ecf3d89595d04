/** Requests started per turn of the event loop; between turns sockets are served. */
const REQUESTS_A_TURN = 8;

/**
 * Keeps a burst of requests from delaying terminals and probes. Addresses alternate, so that a busy one delays others
 * by one request. Bounded by the listener's connections.
 */
export class RequestQueue {
  readonly #waiting = new Map<string, (() => void)[]>();
  #turn: NodeJS.Immediate | undefined;

  /** Calls `begin` in a later turn. */
  add(address: string, begin: () => void): void {
    const others = this.#waiting.get(address);
    if (others === undefined) this.#waiting.set(address, [begin]);
    else others.push(begin);
    this.#turn ??= setImmediate(() => this.#begin());
  }

  #begin(): void {
    for (let count = 0; count < REQUESTS_A_TURN; count += 1) this.#next()?.();
    this.#turn = this.#waiting.size > 0 ? setImmediate(() => this.#begin()) : undefined;
  }

  /** The oldest request of the address whose last request was longest ago. */
  #next(): (() => void) | undefined {
    for (const [address, requests] of this.#waiting) {
      const request = requests.shift();
      this.#waiting.delete(address);
      if (requests.length > 0) this.#waiting.set(address, requests);
      return request;
    }
    return undefined;
  }
}
