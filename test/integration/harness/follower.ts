// Follows one session of any backend, and keeps everything that was delivered.

import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import { concatBytes } from "../../../src/lib/data/collect.ts";
import type { SessionSocket } from "../../../src/protocol/client/session-socket.ts";
import type { ExitEvent, SessionEvent } from "../../../src/protocol/frame/event.ts";
import type { Resync } from "../../../src/protocol/frame/resync.ts";
import type { Delivery, SessionBackend, Sink } from "../../../src/sessions/backend.ts";
import { PATIENCE_MS } from "./patience.ts";

/** Checks offsets on arrival: every later wait reports a missing or repeated byte. */
export class Follower implements Disposable {
  readonly id: string;
  readonly events: SessionEvent[] = [];
  readonly resyncs: Resync[] = [];
  readonly #pieces: Uint8Array[] = [];
  readonly #changes = new Emitter<void>();
  #problem: Error | undefined;
  #source: Disposable | undefined;
  #offset = 0;
  #next: number | undefined;

  private constructor(id: string) {
    this.id = id;
  }

  /** Follows from now on. */
  static async subscribe(backend: SessionBackend, id: string): Promise<Follower> {
    const follower = new Follower(id);
    const subscription = await backend.subscribe(id, follower.sink);
    follower.#begin(subscription.offset, subscription);
    return follower;
  }

  /** Follows from byte `from` on, over /ws. */
  static attach(socket: SessionSocket, id: string, from = 0): Follower {
    const follower = new Follower(id);
    const at = (): number => follower.next ?? from;
    const attachment = socket.attach(
      id,
      { from },
      {
        onOutput: follower.sink,
        onResync: (resync) => follower.sink({ kind: "resync", ...resync }),
        onEvent: (event) => follower.sink({ kind: "event", offset: at(), event }),
        onError: (error) => follower.#fail(error),
      },
    );
    follower.#begin(from, attachment);
    return follower;
  }

  readonly sink: Sink = (delivery) => {
    this.#take(delivery);
    this.#changes.emit();
  };

  /** The offset where delivery began. */
  get offset(): number {
    return this.#offset;
  }

  /** The offset after the last received byte; undefined before the first. */
  get next(): number | undefined {
    return this.#next;
  }

  get bytes(): Uint8Array {
    return concatBytes(this.#pieces);
  }

  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  /** Resolves as soon as `find` returns a value. */
  async until<T>(find: () => T | undefined, what: string): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const check = (): void => {
      const found = find();
      if (this.#problem !== undefined) reject(this.#problem);
      else if (found !== undefined) resolve(found);
    };
    using _listening = this.#changes.on(check);
    check();
    return await withDeadline(promise, PATIENCE_MS, what);
  }

  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    return this.until(() => pattern.exec(this.text) ?? undefined, `the output of ${pattern}`);
  }

  async event<K extends SessionEvent["kind"]>(kind: K): Promise<Extract<SessionEvent, { kind: K }>> {
    const isWanted = (event: SessionEvent): event is Extract<SessionEvent, { kind: K }> =>
      event.kind === kind;
    return this.until(() => this.events.find(isWanted), `a ${kind} event`);
  }

  async exit(): Promise<ExitEvent> {
    return this.event("exit");
  }

  [Symbol.dispose](): void {
    this.#source?.[Symbol.dispose]();
  }

  #begin(offset: number, source: Disposable): void {
    this.#offset = offset;
    this.#source = source;
  }

  #take(delivery: Delivery): void {
    const isOver = this.events.some(({ kind }) => kind === "exit");
    if (isOver) this.#fail(new Error(`${delivery.kind} after the exit`));
    if (delivery.kind === "event") this.events.push(delivery.event);
    else if (delivery.kind === "output") this.#output(delivery.offset, delivery.bytes);
    else if (delivery.kind === "lost") this.#fail(delivery.error);
    else if (delivery.kind === "resync") {
      this.resyncs.push(delivery);
      this.#next = delivery.offset;
    }
    if (delivery.kind === "event" && this.#next !== undefined && delivery.offset !== this.#next) {
      this.#fail(new Error(`${delivery.event.kind} at ${delivery.offset}, output up to ${this.#next}`));
    }
  }

  #output(offset: number, bytes: Uint8Array): void {
    if (this.#next !== undefined && offset !== this.#next) {
      this.#fail(new Error(`output from ${offset} on, ${this.#next} was due`));
    }
    this.#pieces.push(bytes.slice());
    this.#next = offset + bytes.length;
  }

  #fail(error: Error): void {
    this.#problem ??= error;
    this.#changes.emit();
  }
}
