/** Requests that begin in one turn of the event loop. Between two turns connections are accepted, read and written. */
const REQUESTS_A_TURN = 8;

/**
 * Requests that wait for their turn: however many come at once, terminals and probes wait for few of them. Addresses
 * alternate, so that an address with many requests delays those of others by one. Bounded by the listener's connections.
 */
export class RequestQueue {
  /** By address; an address without requests has no entry. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #turn: NodeJS.Immediate | undefined;

  /** Calls `begin` in one of the next turns. */
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

  /** The oldest request of the address that has waited longest since its last one. */
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
