// The server events of a backend, in order.
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import type { SessionBackend } from "../../../src/sessions/backend.ts";
import { PATIENCE_MS } from "./patience.ts";

export class ServerEvents implements AsyncDisposable {
  readonly all: ServerEvent[] = [];
  readonly #came = new Emitter<ServerEvent>();
  readonly #watching: Disposable;

  private constructor(backend: Pick<SessionBackend, "watch">) {
    this.#watching = backend.watch((event) => {
      this.all.push(event);
      this.#came.emit(event);
    });
  }

  static of(backend: Pick<SessionBackend, "watch">): ServerEvents {
    return new ServerEvents(backend);
  }

  /** The first matching past or future event. */
  async first(fits: (event: ServerEvent) => boolean): Promise<ServerEvent> {
    const { promise, resolve } = Promise.withResolvers<ServerEvent>();
    using _listening = this.#came.on((event) => {
      if (fits(event)) resolve(event);
    });
    const earlier = this.all.find(fits);
    if (earlier !== undefined) resolve(earlier);
    return await withDeadline(promise, PATIENCE_MS, "an event of the server");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching[Symbol.dispose]();
  }
}
