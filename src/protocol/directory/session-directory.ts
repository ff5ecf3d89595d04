// The sessions of one source, replicated: a reducer without I/O, clock or randomness, for server, HQ and page. The model
// is list-and-watch of Kubernetes: a list, then changes; after a gap or in another epoch the source is listed again.
import { MAX_FRAME_SESSION_ID_BYTES, MAX_PENDING_CHANGES, MAX_RECORD_LENGTH } from "../limits.ts";
import type { SessionRecord } from "../schemas/session.ts";
import { keyOf, type SessionChange, type SessionSnapshot, type SourcePosition } from "./session-change.ts";

export type DirectoryInput =
  /** Changes arrive from now on. `position`: the current one, if the source numbers its changes. */
  | { readonly kind: "source-up"; readonly position: SourcePosition | undefined }
  | { readonly kind: "source-down" }
  | { readonly kind: "change"; readonly change: SessionChange }
  /** A change that the source did not describe. */
  | { readonly kind: "outdated" }
  /** The answer to the request with that number. */
  | { readonly kind: "list"; readonly request: number; readonly snapshot: SessionSnapshot };

export type DirectoryNotification =
  | {
      readonly kind: "session-start" | "session-changed" | "session-exit" | "session-removed";
      readonly record: SessionRecord;
    }
  | { readonly kind: "remote-left"; readonly remoteName: string }
  /** A session is left out: its record is too long, all would become too long, or no frame can carry its id. */
  | { readonly kind: "session-refused"; readonly record: SessionRecord }
  /** The source must be listed; answers to earlier requests are ignored. */
  | { readonly kind: "list-wanted"; readonly request: number };

type Phase =
  | { readonly kind: "down" }
  /**
   * The list is requested. `pending`: changes received since, at most MAX_PENDING_CHANGES of the length of all records; over
   * that the source is listed again. `isOutdated`: the list may be incomplete.
   */
  | { readonly kind: "listing"; readonly pending: SessionChange[]; length: number; isOutdated: boolean }
  | { readonly kind: "current" };

const encoder = new TextEncoder();

/** Changed only by `apply`, whose result depends on the inputs alone. Updated in place: copies would be garbage. */
export class SessionDirectory {
  readonly #records = new Map<string, SessionRecord>();
  readonly #keysById = new Map<string, string>();
  readonly #maxLength: number;
  /** Of all records as JSON, in UTF-16 units. */
  #length = 0;
  #phase: Phase = { kind: "down" };
  #position: SourcePosition | undefined;
  #wasListed = false;
  #request = 0;

  /** `maxLength`: of all records as JSON, in UTF-16 units. Sessions beyond are left out. */
  constructor(maxLength = Number.POSITIVE_INFINITY) {
    this.#maxLength = maxLength;
  }

  /** By key. */
  get records(): ReadonlyMap<string, SessionRecord> {
    return this.#records;
  }

  /** Of the last change or list; `undefined` if the source does not number its changes. */
  get position(): SourcePosition | undefined {
    return this.#position;
  }

  /** Whether all changes that the source has reported are applied. */
  get isCurrent(): boolean {
    return this.#phase.kind === "current";
  }

  byId(id: string): SessionRecord | undefined {
    const key = this.#keysById.get(id);
    return key === undefined ? undefined : this.#records.get(key);
  }

  apply(input: DirectoryInput): readonly DirectoryNotification[] {
    if (this.#phase.kind === "down" && input.kind !== "source-up") return [];
    switch (input.kind) {
      case "source-up":
        return this.#up(input.position);
      case "source-down":
        this.#phase = { kind: "down" };
        return [];
      case "outdated":
        return this.#want();
      case "change":
        return this.#hear(input.change);
      case "list":
        return input.request === this.#request ? this.#list(input.snapshot) : [];
    }
  }

  #up(position: SourcePosition | undefined): readonly DirectoryNotification[] {
    // The answer to an earlier request may be older than the connection.
    this.#phase = { kind: "current" };
    return position !== undefined && this.#isKnown(position) ? [] : this.#want();
  }

  #want(...pending: SessionChange[]): readonly DirectoryNotification[] {
    if (this.#phase.kind === "listing") {
      this.#phase.isOutdated = true;
      return [];
    }
    this.#phase = { kind: "listing", pending, length: 0, isOutdated: false };
    this.#request += 1;
    return [{ kind: "list-wanted", request: this.#request }];
  }

  #hear(change: SessionChange): readonly DirectoryNotification[] {
    if (this.#phase.kind !== "listing") {
      if (this.#follows(change)) return this.#advance(change);
      return this.#isKnown(change) ? [] : this.#want(change);
    }
    const { pending } = this.#phase;
    this.#phase.length += JSON.stringify(change).length;
    if (pending.length >= MAX_PENDING_CHANGES || this.#phase.length > this.#maxLength) {
      pending.length = 0;
      this.#phase.length = 0;
      return this.#want();
    }
    pending.push(change);
    return [];
  }

  #isKnown({ epoch, revision }: SourcePosition): boolean {
    return epoch === this.#position?.epoch && revision <= this.#position.revision;
  }

  #follows({ epoch, revision, previous = revision - 1 }: SessionChange): boolean {
    if (epoch !== this.#position?.epoch) return false;
    return revision > this.#position.revision && previous <= this.#position.revision;
  }

  #advance({ epoch, revision, what }: SessionChange): readonly DirectoryNotification[] {
    this.#position = { epoch, revision };
    if (what.kind === "put") return this.#put(what.record, "session-start");
    if (what.kind === "removed") return this.#remove(what.key);
    for (const [key, { remoteName }] of this.#records) if (remoteName === what.remoteName) this.#remove(key);
    return [what];
  }

  #list({ position, records }: SessionSnapshot): readonly DirectoryNotification[] {
    if (this.#phase.kind !== "listing") return [];
    const { pending, isOutdated } = this.#phase;
    this.#phase = { kind: "current" };
    this.#position = position;
    const wasListed = this.#wasListed;
    this.#wasListed = true;
    const keys = new Set(records.map(keyOf));
    const gone = [...this.#records.keys()].filter((key) => !keys.has(key));
    // Removals first: a new session may have the id of an old one.
    const told = gone.flatMap((key) => this.#remove(key));
    const started = new Set(
      pending.map(({ what }) => (what.kind === "put" && what.isNew ? keyOf(what.record) : undefined)),
    );
    for (const record of records) {
      // In a first list, only sessions whose start was reported are known to be new.
      const isNew = wasListed || started.has(keyOf(record));
      told.push(...this.#put(record, isNew ? "session-start" : "session-changed"));
    }
    // Changes of another epoch than the list's are older: the loss of their connection is not detected yet.
    for (const change of pending) if (change.epoch === position?.epoch) told.push(...this.#hear(change));
    return isOutdated && this.isCurrent ? [...told, ...this.#want()] : told;
  }

  /** `news`: the notification for an unknown session. An unchanged record stays the same object. */
  #put(record: SessionRecord, news: "session-start" | "session-changed"): readonly DirectoryNotification[] {
    const key = keyOf(record);
    const known = this.#records.get(key);
    // With another id it is another session.
    if (known !== undefined && known.id !== record.id)
      return [...this.#remove(key), ...this.#put(record, news)];
    const text = JSON.stringify(record);
    const before = known === undefined ? "" : JSON.stringify(known);
    if (text === before) return [];
    const length = this.#length + text.length - before.length;
    const isTooLong =
      text.length > MAX_RECORD_LENGTH || encoder.encode(record.id).length > MAX_FRAME_SESSION_ID_BYTES;
    if (length > this.#maxLength || isTooLong)
      return [...this.#remove(key), { kind: "session-refused", record }];
    this.#length = length;
    this.#records.set(key, record);
    this.#keysById.set(record.id, key);
    const hasEnded = known !== undefined && known.status !== "exited" && record.status === "exited";
    return [{ kind: hasEnded ? "session-exit" : known === undefined ? news : "session-changed", record }];
  }

  #remove(key: string): DirectoryNotification[] {
    const record = this.#records.get(key);
    if (record === undefined) return [];
    this.#records.delete(key);
    this.#length -= JSON.stringify(record).length;
    if (this.#keysById.get(record.id) === key) this.#keysById.delete(record.id);
    return [{ kind: "session-removed", record }];
  }
}
