// Follows a session from its first byte, hashes the output, and reconnects by itself after every cut.
import { createHash } from "node:crypto";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import type { ConnectionOptions } from "../../../src/protocol/client/connection.ts";
import { SessionSocket } from "../../../src/protocol/client/session-socket.ts";
import { openLink } from "../../../src/remote/uplink.ts";

export type Hashed = { readonly sha256: string; readonly bytes: number; readonly resyncs: number };

export class HashingViewer implements Disposable {
  readonly #socket: SessionSocket;
  readonly #hash = createHash("sha256");
  readonly #taken = new Emitter<void>();
  readonly #ended = Promise.withResolvers<Hashed>();
  #next = 0;
  #resyncs = 0;

  /** `url`: the server's; `ca`: trusted in addition to Node's authorities; `times`: replace the short defaults. */
  constructor(
    url: string,
    sessionId: string,
    more: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly ca?: Uint8Array;
      readonly times?: NonNullable<ConnectionOptions["times"]>;
    } = {},
  ) {
    const { times = { quickMs: 20, firstMs: 50, maxMs: 200 }, ...target } = more;
    this.#ended.promise.catch(() => undefined);
    this.#socket = new SessionSocket({
      open: (handlers, signal) => openLink({ url, headers: {}, ...target }, handlers, signal),
      clientName: "hashing",
      version: "0",
      times,
    });
    this.#socket.attach(
      sessionId,
      { from: 0 },
      {
        onOutput: ({ offset, bytes }) => this.#take(offset, bytes),
        onResync: () => {
          this.#resyncs += 1;
        },
        onEvent: (event) => {
          if (event.kind === "exit") this.#end();
        },
        onError: (error) => {
          if (error.status < 500) this.#ended.reject(error);
        },
      },
    );
  }

  /** The offset of the next expected byte. */
  get next(): number {
    return this.#next;
  }

  /** Calls back whenever bytes have arrived. */
  onTaken(listener: () => void): Disposable {
    return this.#taken.on(listener);
  }

  /** The result, once the session has ended. Rejects if a byte is missing or repeated, or the session is lost. */
  get ended(): Promise<Hashed> {
    return this.#ended.promise;
  }

  /** Resolves when all bytes before that offset have arrived. Rejects like `ended`. */
  async reached(offset: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => void (this.#next >= offset && resolve());
    using _listening = this.#taken.on(check);
    check();
    await Promise.race([promise, this.#ended.promise]);
  }

  [Symbol.dispose](): void {
    this.#socket[Symbol.dispose]();
  }

  #take(offset: number, bytes: Uint8Array): void {
    if (offset !== this.#next) this.#ended.reject(new Error(`byte ${offset} came, ${this.#next} was due`));
    this.#hash.update(bytes);
    this.#next = offset + bytes.length;
    this.#taken.emit();
  }

  #end(): void {
    this.#ended.resolve({ sha256: this.#hash.digest("hex"), bytes: this.#next, resyncs: this.#resyncs });
  }
}
