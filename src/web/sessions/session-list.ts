// All sessions, replicated from the server by list and watch: an event carries the whole record of its session.
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { type DirectoryNews, DirectoryWatch } from "../../protocol/directory/directory-watch.ts";
import type { SessionSnapshot } from "../../protocol/directory/session-change.ts";
import type { ServerEvent } from "../../protocol/frame/event.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";

/** Remembered sessions of machines that left; the oldest are dropped. */
const MAX_REMEMBERED = 1_000;
/** Between two updates of the page. */
const SHOW_INTERVAL_MS = 100;

export type SessionListOptions = {
  readonly list: (signal: AbortSignal) => Promise<SessionSnapshot>;
  readonly subscribe: (listener: (event: ServerEvent) => void) => Disposable;
  /** Called when the connection for events is lost. */
  readonly onLost: (listener: () => void) => Disposable;
};

export class SessionList implements Disposable {
  readonly #records = signal<readonly SessionRecord[] | undefined>(undefined);
  readonly #remembered = signal<readonly SessionRecord[]>([]);
  readonly #rung = signal<ReadonlySet<string>>(new Set());
  /** Sessions whose bell rang while they were not visible. At most as many as there are sessions. */
  readonly rung: ReadonlySignal<ReadonlySet<string>> = this.#rung;
  readonly #scope = new DisposableStack();
  readonly #directory: DirectoryWatch;
  #showing: ReturnType<typeof setTimeout> | undefined;
  #isStale = false;

  constructor({ list, subscribe, onLost }: SessionListOptions) {
    const onNews = (news: DirectoryNews): void => this.#happened(news);
    this.#directory = this.#scope.use(new DirectoryWatch({ list, onNews }));
    this.#scope.use(this.#directory.onCurrent(() => this.#showSoon()));
    this.#scope.use(subscribe((event) => this.#heard(event)));
    this.#scope.use(onLost(() => this.#directory.lost()));
    this.#scope.defer(() => clearTimeout(this.#showing));
  }

  /** Undefined until the list was read for the first time. Running ones first, the newest of each first. */
  readonly all: ReadonlySignal<readonly SessionRecord[] | undefined> = computed(
    () => this.#records.value && inOrder(this.#records.value),
  );

  /** At an HQ: sessions of machines that left. */
  readonly remembered: ReadonlySignal<readonly SessionRecord[]> = computed(() =>
    inOrder(this.#remembered.value),
  );

  /** Whether they belong to several users, so that owners are shown. */
  readonly haveOwners: ReadonlySignal<boolean> = computed(
    () => new Set(this.#records.value?.map(({ owner }) => owner)).size > 1,
  );

  /** The last known record, also of a session that left the list with its machine. */
  record(id: string): SessionRecord | undefined {
    const isIt = (record: SessionRecord): boolean => record.id === id;
    return this.#records.value?.find(isIt) ?? this.#remembered.value.find(isIt);
  }

  seen(id: string): void {
    if (!this.#rung.peek().has(id)) return;
    this.#rung.value = new Set([...this.#rung.peek()].filter((rung) => rung !== id));
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  #heard(event: ServerEvent): void {
    const { type, sessionId } = event;
    this.#directory.heard(event);
    if (type === "bell" && sessionId !== undefined && this.record(sessionId) !== undefined)
      this.#rung.value = new Set([...this.#rung.peek(), sessionId]);
  }

  #happened(news: DirectoryNews): void {
    if (news.kind === "remote-left") this.#remember(news.remoteName);
    else if (news.kind === "session-removed") this.seen(news.record.id);
  }

  /** They are no longer in the list, but an open view still needs the name. */
  #remember(remoteName: string): void {
    const records = this.#records.peek() ?? [];
    const left = records.filter((record) => record.remoteName === remoteName);
    // In one step, so that no session is shown twice.
    batch(() => {
      this.#records.value &&= records.filter((record) => record.remoteName !== remoteName);
      this.#remembered.value = [...left, ...this.#remembered.peek()].slice(0, MAX_REMEMBERED);
    });
  }

  /** At once, unless the page was just updated. */
  #showSoon(): void {
    this.#isStale = true;
    if (this.#showing !== undefined) return;
    this.#show();
    this.#showing = setTimeout(() => {
      this.#showing = undefined;
      if (this.#isStale) this.#showSoon();
    }, SHOW_INTERVAL_MS);
  }

  #show(): void {
    this.#isStale = false;
    const records = [...this.#directory.records.values()];
    const sources = new Set(records.map(({ source }) => source));
    this.#records.value = records;
    this.#remembered.value = this.#remembered.peek().filter(({ source }) => !sources.has(source));
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
