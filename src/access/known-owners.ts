import type { SessionRecord } from "../protocol/session.ts";
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
  readonly #asking = new Map<string, Promise<SessionOwner>>();
  readonly #watching: Disposable;

  constructor(backend: Pick<SessionBackend, "get" | "watch">) {
    this.#backend = backend;
    this.#watching = backend.watch(({ type, sessionId }) => {
      if (sessionId === undefined) this.#known.clear();
      else if (type === "session-removed" || type === "session-start") this.#known.delete(sessionId);
    });
  }

  /** What is known without asking. */
  known(id: string): SessionOwner | undefined {
    return this.#known.get(id);
  }

  /** Throws what `get` of the backend throws. Whoever asks meanwhile gets the same answer, in the order of the calls. */
  ask(id: string): Promise<SessionOwner> {
    const known = this.#known.get(id);
    if (known !== undefined) return Promise.resolve(known);
    const asking = this.#asking.get(id) ?? this.#look(id);
    this.#asking.set(id, asking);
    return asking;
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

  async #look(id: string): Promise<SessionOwner> {
    try {
      return this.learn(await this.#backend.get(id));
    } finally {
      this.#asking.delete(id);
    }
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
  }
}
