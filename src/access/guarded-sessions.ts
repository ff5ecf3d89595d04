import type { Rights } from "../auth/roles.ts";
import { keyOf } from "../protocol/directory/session-change.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/frame/event.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../protocol/schemas/session.ts";
import type { Content, SessionBackend, Sink, Subscription, View } from "../sessions/backend.ts";
import { guestRecord, guestView } from "./guest-sight.ts";

/** The owner's name, or a guest's share link. */
export type Holder =
  | { readonly kind: "owner"; readonly owner: string | undefined }
  | Extract<Rights, { kind: "invited" }>;

/**
 * Only the sessions of its holder. All others answer `session_not_found`, whether or not they exist. Endpoints and
 * frames check permissions before, see auth/roles.ts.
 */
export class GuardedSessions implements SessionBackend {
  readonly #backend: SessionBackend;
  readonly #holder: Holder;

  /** Does not dispose of the backend. */
  constructor(options: { backend: SessionBackend; holder: Holder }) {
    this.#backend = options.backend;
    this.#holder = options.holder;
  }

  async list(): Promise<readonly SessionRecord[]> {
    return this.#ofHolder(await this.#backend.list());
  }

  all(): readonly SessionRecord[] {
    return this.#ofHolder(this.#backend.all());
  }

  find(id: string): SessionRecord | Promise<SessionRecord> {
    const found = this.#backend.find(id);
    const checked = (record: SessionRecord): SessionRecord => {
      if (!this.#has(record)) throw notFound(id);
      return this.#shown(record);
    };
    return found instanceof Promise ? found.then(checked) : checked(found);
  }

  async get(id: string): Promise<SessionRecord> {
    const record = await this.#after(id, () => this.#backend.get(id));
    if (!this.#has(record)) throw notFound(id);
    return this.#shown(record);
  }

  create(request: CreateSession): Promise<SessionRecord> {
    return this.#backend.create(request);
  }

  rename(id: string, name: string): Promise<SessionRecord> {
    return this.#after(id, () => this.#backend.rename(id, name));
  }

  remove(id: string): Promise<Removal> {
    return this.#after(id, () => this.#backend.remove(id));
  }

  write(id: string, input: Uint8Array): Promise<void> {
    return this.#after(id, () => this.#backend.write(id, input));
  }

  resize(id: string, size: TerminalSize): Promise<void> {
    return this.#after(id, () => this.#backend.resize(id, size));
  }

  kill(id: string, signal: SignalName): Promise<void> {
    return this.#after(id, () => this.#backend.kill(id, signal));
  }

  mark(id: string, label: string): Promise<void> {
    return this.#after(id, () => this.#backend.mark(id, label));
  }

  view(id: string, view: View, signal: AbortSignal): Promise<Content> {
    const open = (asked: View): Promise<Content> => this.#backend.view(id, asked, signal);
    const holder = this.#holder;
    return this.#after(id, () => (holder.kind === "owner" ? open(view) : guestView(view, holder.from, open)));
  }

  async subscribe(id: string, sink: Sink, flags?: number): Promise<Subscription> {
    const { record, ...rest } = await this.#after(id, () => this.#backend.subscribe(id, sink, flags));
    return { ...rest, record: this.#shown(record) };
  }

  /** Events of all sessions: callers filter them with SessionView.shown. */
  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#backend.watch(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #ofHolder(records: readonly SessionRecord[]): readonly SessionRecord[] {
    return records.filter((record) => this.#has(record)).map((record) => this.#shown(record));
  }

  /** Synchronous if the session is known, so that input keeps the order of the calls. */
  #after<T>(id: string, act: () => Promise<T>): Promise<T> {
    try {
      const found = this.find(id);
      return found instanceof Promise ? found.then(act) : act();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #has(record: SessionRecord): boolean {
    const { owner } = record;
    const holder = this.#holder;
    if (holder.kind === "owner") return owner !== undefined && owner === holder.owner;
    return keyOf(record) === holder.session.key;
  }

  #shown(record: SessionRecord): SessionRecord {
    return this.#holder.kind === "owner" ? record : guestRecord(record, this.#holder.mode);
  }
}

function notFound(id: string): ServiceError {
  return new ServiceError("session_not_found", `no session ${id}`);
}
