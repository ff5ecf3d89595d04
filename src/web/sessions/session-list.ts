// All sessions, kept true by the server's events and not by polling: an event says that a session changed, and what it is
// now is read again.
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { ServerEvent } from "../../protocol/frame/event.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { Refresher, type RefresherOptions } from "../refresher.ts";

/** Sessions that are remembered of machines that have none in the list any more; the oldest go. */
const MAX_REMEMBERED = 1_000;

export type SessionListOptions = {
  readonly fetch: (signal: AbortSignal) => Promise<readonly SessionRecord[]>;
  readonly subscribe: (listener: (event: ServerEvent) => void) => Disposable;
} & Pick<RefresherOptions, "stage" | "intervalMs" | "retryMs">;

export class SessionList implements Disposable {
  readonly #records = signal<readonly SessionRecord[] | undefined>(undefined);
  readonly #remembered = signal<readonly SessionRecord[]>([]);
  readonly #rung = signal<ReadonlySet<string>>(new Set());
  readonly #scope = new DisposableStack();
  readonly #reading: Refresher;

  constructor({ fetch, subscribe, ...options }: SessionListOptions) {
    const read = async (signal: AbortSignal): Promise<void> => this.#replace(await fetch(signal));
    this.#reading = this.#scope.use(new Refresher({ read, ...options }));
    this.#scope.use(subscribe((event) => this.#happened(event)));
    this.refresh();
  }

  /** Undefined until the list was read for the first time. Running ones first, the newest of each first. */
  readonly all: ReadonlySignal<readonly SessionRecord[] | undefined> = computed(
    () => this.#records.value && inOrder(this.#records.value),
  );

  /** On an HQ: sessions of machines that had some and have none in the list any more, because they left. */
  readonly remembered: ReadonlySignal<readonly SessionRecord[]> = computed(() =>
    inOrder(this.#remembered.value),
  );

  /** Whether they are not all of the same user: then it matters whose one is. */
  readonly haveOwners: ReadonlySignal<boolean> = computed(
    () => new Set(this.#records.value?.map(({ owner }) => owner)).size > 1,
  );

  /** Sessions whose bell rang while they were not looked at. At most as many as there are sessions. */
  get rung(): ReadonlySignal<ReadonlySet<string>> {
    return this.#rung;
  }

  /** As last known, also of one that left the list with its machine. */
  record(id: string): SessionRecord | undefined {
    const isIt = (record: SessionRecord): boolean => record.id === id;
    return this.#records.value?.find(isIt) ?? this.#remembered.value.find(isIt);
  }

  /** Shows at once what a request has just answered. */
  put(record: SessionRecord): void {
    const others = this.#records.peek()?.filter((known) => known.id !== record.id) ?? [];
    this.#records.value = [record, ...others];
    this.#reading.overtaken();
  }

  forget(id: string): void {
    const isOther = (record: SessionRecord): boolean => record.id !== id;
    this.#records.value = this.#records.peek()?.filter(isOther);
    this.#remembered.value = this.#remembered.peek().filter(isOther);
    this.lookedAt(id);
    this.#reading.overtaken();
  }

  /** As soon as it may be. */
  refresh(): void {
    this.#reading.refresh();
  }

  lookedAt(id: string): void {
    if (!this.#rung.peek().has(id)) return;
    this.#rung.value = new Set([...this.#rung.peek()].filter((rung) => rung !== id));
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  #happened(event: ServerEvent): void {
    const { type, sessionId } = event;
    if (sessionId !== undefined && type === "session-removed") this.forget(sessionId);
    else if (sessionId !== undefined && type === "bell") this.#rang(sessionId);
    else {
      if (sessionId !== undefined && type === "session-exit") this.#exited(sessionId, event.exitCode);
      if (type === "connected") this.#reading.renewed();
      else this.refresh();
    }
  }

  /** The sessions of a machine that left are not in the list; who looks at one of them still wants to know its name. */
  #replace(records: readonly SessionRecord[]): void {
    const sources = new Set(records.map(({ source }) => source));
    const known = [...(this.#records.peek() ?? []), ...this.#remembered.peek()];
    const left = known.filter(({ source }) => source !== undefined && !sources.has(source));
    this.#remembered.value = left.slice(0, MAX_REMEMBERED);
    this.#records.value = records;
  }

  #rang(id: string): void {
    if (this.record(id) !== undefined) this.#rung.value = new Set([...this.#rung.peek(), id]);
  }

  /** What the event says is shown at once; the rest follows with the next reading. */
  #exited(id: string, exitCode: number | undefined): void {
    const known = exitCode === undefined ? {} : { exitCode };
    this.#records.value = this.#records
      .peek()
      ?.map((record) => (record.id === id ? { ...record, ...known, status: "exited" as const } : record));
  }
}

function inOrder(records: readonly SessionRecord[]): readonly SessionRecord[] {
  return records.toSorted(
    (one, other) => rank(one) - rank(other) || other.created.localeCompare(one.created),
  );
}

function rank(record: SessionRecord): number {
  return record.status === "exited" ? 1 : 0;
}
