import { KeyedSingleFlight } from "../lib/async/keyed-single-flight.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { SessionRecord } from "../protocol/schemas/session.ts";
import type { SessionBackend } from "../sessions/backend.ts";

/** What tells a session from every other, and whose it is. */
export type SessionOwner = Pick<SessionRecord, "id" | "created"> & { readonly owner: string | undefined };

/** Sessions whose owners are remembered; over that the one learnt longest ago is asked for again. */
const MAX_KNOWN = 10_000;

/**
 * Whose a session is, asked once: a session never changes hands. What is known is forgotten when a session is removed,
 * after which another one may have its id, and when machines come and go.
 */
export class KnownOwners implements Disposable {
  readonly #backend: Pick<SessionBackend, "get" | "watch">;
  readonly #known = new Map<string, SessionOwner>();
  readonly #questions = new KeyedSingleFlight<SessionOwner>();
  /** Those on their way; `isCurrent` until the session may be another one. */
  readonly #readings = new Set<{ readonly id: string; isCurrent: boolean }>();
  readonly #watching: Disposable;

  constructor(backend: Pick<SessionBackend, "get" | "watch">) {
    this.#backend = backend;
    this.#watching = backend.watch(({ type, sessionId }) => {
      const isAnother = type === "session-removed" || type === "session-start";
      if (sessionId === undefined || isAnother) this.#forget(sessionId);
    });
  }

  /** What is known without asking; nothing while others wait for an answer, so that nobody comes before them. */
  known(id: string): SessionOwner | undefined {
    return this.#questions.running(id) === undefined ? this.#known.get(id) : undefined;
  }

  /** Throws what `get` of the backend throws. Whoever asks meanwhile gets the same answer, in the order of the calls. */
  ask(id: string): Promise<SessionOwner> {
    const known = this.known(id);
    if (known !== undefined) return Promise.resolve(known);
    return this.#questions.ask(id, () => this.#look(id));
  }

  learn({ id, created, owner }: SessionRecord): SessionOwner {
    const known = { id, created, owner };
    for (const oldest of this.#known.keys()) {
      if (this.#known.size < MAX_KNOWN) break;
      this.#known.delete(oldest);
    }
    this.#known.set(id, known);
    return known;
  }

  /** The session as the backend has it. Its owner is remembered unless the answer may be out of date by now. */
  async read(id: string): Promise<SessionRecord> {
    const reading = { id, isCurrent: true };
    this.#readings.add(reading);
    try {
      const record = await this.#backend.get(id);
      // What another machine answers may be anything.
      if (record.id !== id)
        throw new ServiceError("internal_error", `asked for session ${id}, another one came`);
      if (reading.isCurrent) this.learn(record);
      return record;
    } finally {
      this.#readings.delete(reading);
    }
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
  }

  /** Until the answer is one to go by: who asks meanwhile waits for the same, so that input keeps its order. */
  async #look(id: string): Promise<SessionOwner> {
    for (;;) {
      await this.read(id);
      const known = this.#known.get(id);
      if (known !== undefined) return known;
    }
  }

  /** Undefined: all of them. */
  #forget(id: string | undefined): void {
    if (id === undefined) this.#known.clear();
    else this.#known.delete(id);
    for (const reading of this.#readings) reading.isCurrent &&= id !== undefined && reading.id !== id;
  }
}
