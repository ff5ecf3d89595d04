import type { Rights } from "../auth/rights.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/event.ts";
import type { CreateSession, Removal, SessionRecord, SignalName, TerminalSize } from "../protocol/session.ts";
import type { Content, SessionBackend, Sink, Subscription, View } from "../sessions/backend.ts";
import { guestRecord, guestView } from "./guest-sight.ts";
import type { KnownOwners, SessionOwner } from "./known-owners.ts";

/** Who has them: the user of that name, or somebody who came by a share link. */
export type Holder =
  | { readonly kind: "owner"; readonly owner: string | undefined }
  | Extract<Rights, { kind: "invited" }>;

/** What is done with a session. A guest may do the first, with "type" the second, and never the third. */
type Deed = "look" | "type" | "rule";

/**
 * A backend with those sessions alone that its holder may see. All others are not there: `session_not_found`, whether
 * or not they exist. What a guest may not do in the one session: `forbidden`.
 */
export class GuardedSessions implements SessionBackend {
  readonly #backend: SessionBackend;
  readonly #owners: KnownOwners;
  readonly #holder: Holder;

  /** The backend is not disposed of with this. */
  constructor(options: { backend: SessionBackend; owners: KnownOwners; holder: Holder }) {
    this.#backend = options.backend;
    this.#owners = options.owners;
    this.#holder = options.holder;
  }

  async list(): Promise<readonly SessionRecord[]> {
    const records = await this.#backend.list();
    return records.filter((record) => this.#has(record)).map((record) => this.#shown(record));
  }

  async get(id: string): Promise<SessionRecord> {
    const record = await this.#owners.read(id);
    if (!this.#has(record)) throw notFound(id);
    return this.#shown(record);
  }

  async create(request: CreateSession): Promise<SessionRecord> {
    if (this.#holder.kind !== "owner") throw forbidden("start a session");
    const record = await this.#backend.create(request);
    this.#owners.learn(record);
    return record;
  }

  rename(id: string, name: string): Promise<SessionRecord> {
    return this.#after("rule", id, "rename the session", () => this.#backend.rename(id, name));
  }

  remove(id: string): Promise<Removal> {
    return this.#after("rule", id, "end the session", () => this.#backend.remove(id));
  }

  write(id: string, input: Uint8Array): Promise<void> {
    return this.#after("type", id, "type", () => this.#backend.write(id, input));
  }

  resize(id: string, size: TerminalSize): Promise<void> {
    return this.#after("type", id, "resize the terminal", () => this.#backend.resize(id, size));
  }

  kill(id: string, signal: SignalName): Promise<void> {
    return this.#after("rule", id, "send a signal", () => this.#backend.kill(id, signal));
  }

  mark(id: string, label: string): Promise<void> {
    return this.#after("type", id, "set a marker", () => this.#backend.mark(id, label));
  }

  view(id: string, view: View, signal: AbortSignal): Promise<Content> {
    const open = (asked: View): Promise<Content> => this.#backend.view(id, asked, signal);
    const holder = this.#holder;
    return this.#after("look", id, "look", () =>
      holder.kind === "owner" ? open(view) : guestView(view, holder.from, open),
    );
  }

  async subscribe(id: string, sink: Sink): Promise<Subscription> {
    const { record, ...rest } = await this.#after("look", id, "look", () =>
      this.#backend.subscribe(id, sink),
    );
    return { ...rest, record: this.#shown(record) };
  }

  /** Events of everybody's sessions: whoever hands them on asks SessionView.shown. */
  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#backend.watch(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /**
   * Does it, or refuses. What is known already is decided at once, so that input is passed on in the order of the calls.
   */
  #after<T>(deed: Deed, id: string, what: string, act: () => Promise<T>): Promise<T> {
    const known = this.#owners.known(id);
    if (known !== undefined) {
      const refusal = this.#refusal(deed, known, what);
      return refusal === undefined ? act() : Promise.reject(refusal);
    }
    return this.#owners.ask(id).then((session) => {
      const refusal = this.#refusal(deed, session, what);
      if (refusal !== undefined) throw refusal;
      return act();
    });
  }

  #refusal(deed: Deed, session: SessionOwner, what: string): ServiceError | undefined {
    if (!this.#has(session)) return notFound(session.id);
    const holder = this.#holder;
    if (holder.kind === "owner" || deed === "look") return undefined;
    return deed === "type" && holder.mode === "type" ? undefined : forbidden(what);
  }

  #has({ id, created, owner }: Pick<SessionRecord, "id" | "created" | "owner">): boolean {
    const holder = this.#holder;
    if (holder.kind === "owner") return owner !== undefined && owner === holder.owner;
    return id === holder.session.id && created === holder.session.created;
  }

  /** A guest's record also says what the link allows. */
  #shown(record: SessionRecord): SessionRecord {
    if (this.#holder.kind === "owner") return record;
    return { ...guestRecord(record), access: this.#holder.mode };
  }
}

function notFound(id: string): ServiceError {
  return new ServiceError("session_not_found", `no session ${id}`);
}

function forbidden(what: string): ServiceError {
  return new ServiceError("forbidden", `this share link does not allow you to ${what}`);
}
