// All sessions, kept true by the server's events and not by polling. An event says that a session changed; what it is now
// is read again, at most once in REFRESH_INTERVAL_MS and only while the page is shown: requests are counted.
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { ServerEvent } from "../protocol/event.ts";
import type { SessionRecord } from "../protocol/session.ts";

const REFRESH_INTERVAL_MS = 2_500;
/** After a refusal: the server is busy, or the requests of a minute are used up. */
const RETRY_MS = 10_000;

export type SessionListOptions = {
  readonly fetch: () => Promise<readonly SessionRecord[]>;
  readonly subscribe: (listener: (event: ServerEvent) => void) => Disposable;
  readonly document: Document;
};

export class SessionList implements Disposable {
  readonly #options: SessionListOptions;
  readonly #records = signal<readonly SessionRecord[] | undefined>(undefined);
  readonly #rung = signal<ReadonlySet<string>>(new Set());
  readonly #scope = new DisposableStack();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #isReading = false;
  #isStale = false;

  constructor(options: SessionListOptions) {
    this.#options = options;
    this.#scope.use(options.subscribe((event) => this.#happened(event)));
    const shown = (): void => this.#refreshLater();
    options.document.addEventListener("visibilitychange", shown);
    this.#scope.defer(() => options.document.removeEventListener("visibilitychange", shown));
    this.#scope.defer(() => clearTimeout(this.#timer));
    this.refresh();
  }

  /** Undefined until the list was read for the first time. Running ones first, the newest of each first. */
  readonly all: ReadonlySignal<readonly SessionRecord[] | undefined> = computed(() =>
    this.#records.value?.toSorted(
      (one, other) => rank(one) - rank(other) || other.created.localeCompare(one.created),
    ),
  );

  /** Sessions whose bell rang while they were not looked at. At most as many as there are sessions. */
  get rung(): ReadonlySignal<ReadonlySet<string>> {
    return this.#rung;
  }

  record(id: string): SessionRecord | undefined {
    return this.#records.value?.find((record) => record.id === id);
  }

  /** Shows at once what a request has just answered. */
  put(record: SessionRecord): void {
    const others = this.#records.peek()?.filter((known) => known.id !== record.id) ?? [];
    this.#records.value = [record, ...others];
    this.#overtaken();
  }

  forget(id: string): void {
    this.#records.value = this.#records.peek()?.filter((record) => record.id !== id);
    this.lookedAt(id);
    this.#overtaken();
  }

  /** As soon as it may be. */
  refresh(): void {
    this.#isStale = true;
    this.#refreshLater();
  }

  lookedAt(id: string): void {
    if (!this.#rung.peek().has(id)) return;
    this.#rung.value = new Set([...this.#rung.peek()].filter((rung) => rung !== id));
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
    this.#isStale = false;
  }

  #happened(event: ServerEvent): void {
    const { type, sessionId } = event;
    if (sessionId !== undefined && type === "session-removed") this.forget(sessionId);
    else if (sessionId !== undefined && type === "bell") this.#rang(sessionId);
    else {
      if (sessionId !== undefined && type === "session-exit") this.#exited(sessionId, event.exitCode);
      this.refresh();
    }
  }

  #rang(id: string): void {
    if (this.record(id) !== undefined) this.#rung.value = new Set([...this.#rung.peek(), id]);
  }

  /** A list that is on its way does not know what has just happened. */
  #overtaken(): void {
    this.#isStale ||= this.#isReading;
  }

  /** What the event says is shown at once; the rest follows with the next reading. */
  #exited(id: string, exitCode: number | undefined): void {
    const known = exitCode === undefined ? {} : { exitCode };
    this.#records.value = this.#records
      .peek()
      ?.map((record) => (record.id === id ? { ...record, ...known, status: "exited" as const } : record));
  }

  #refreshLater(inMs = 0): void {
    if (!this.#isStale || this.#isReading || this.#timer !== undefined) return;
    // The first list is needed even for a page that was opened in the background: its title shows the session's name.
    const isShown = this.#options.document.visibilityState === "visible";
    if (!isShown && this.#records.peek() !== undefined) return;
    const wait = Math.max(inMs, this.#readAt + REFRESH_INTERVAL_MS - performance.now(), 0);
    this.#timer = setTimeout(() => void this.#read(), wait);
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    this.#isStale = false;
    let retryMs = 0;
    try {
      this.#records.value = await this.#options.fetch();
    } catch {
      // The connection's own banner says what is wrong.
      this.#isStale = true;
      retryMs = RETRY_MS;
    }
    this.#readAt = performance.now();
    this.#isReading = false;
    if (!this.#scope.disposed) this.#refreshLater(retryMs);
  }
}

function rank(record: SessionRecord): number {
  return record.status === "exited" ? 1 : 0;
}
