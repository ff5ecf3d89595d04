import { Backoff } from "../../lib/async/backoff.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { ServiceError } from "../errors.ts";
import { isSessionChange, type ServerEvent } from "../frame/event.ts";
import { RETRY_FIRST_MS, RETRY_MAX_MS } from "../limits.ts";
import type { SessionRecord } from "../schemas/session.ts";
import type { SessionChange, SessionSnapshot, SourcePosition } from "./session-change.ts";
import { type DirectoryInput, type DirectoryNotification, SessionDirectory } from "./session-directory.ts";

export type DirectoryNews = Exclude<DirectoryNotification, { readonly kind: "list-wanted" }>;

type DirectoryWatchOptions = {
  readonly list: (signal: AbortSignal) => Promise<SessionSnapshot>;
  readonly onNews: (news: DirectoryNews) => void;
  /** Of all records as JSON, in UTF-16 units; unlimited by default. */
  readonly maxLength?: number | undefined;
};

/** Keeps a SessionDirectory up to date with a source: lists it when the directory asks, with retries, and reports changes. */
export class DirectoryWatch implements Disposable {
  readonly #directory: SessionDirectory;
  readonly #options: DirectoryWatchOptions;
  readonly #backoff = new Backoff({ firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random: Math.random });
  /** The directory is current (`undefined`), or the reason why it cannot be for now. */
  readonly #outcomes = new Emitter<ServiceError | undefined>();
  #listing = new AbortController();
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(options: DirectoryWatchOptions) {
    this.#options = options;
    this.#directory = new SessionDirectory(options.maxLength);
  }

  /** By key. */
  get records(): ReadonlyMap<string, SessionRecord> {
    return this.#directory.records;
  }

  /** Whether the source numbers its changes; otherwise each change requires a new list. */
  get isNumbered(): boolean {
    return this.#directory.position !== undefined;
  }

  byId(id: string): SessionRecord | undefined {
    return this.#directory.byId(id);
  }

  /** An event of the source's global subscription. */
  heard(event: ServerEvent): void {
    const input = inputOf(event);
    if (input !== undefined) this.#apply(input);
  }

  lost(): void {
    this.#stop();
    this.#apply({ kind: "source-down" });
    this.#outcomes.emit(new ServiceError("host_unreachable", "there is no connection to the source"));
  }

  /** Called after each list and change when the directory has applied all events. */
  onCurrent(listener: () => void): Disposable {
    return this.#outcomes.on((error) => {
      if (error === undefined) listener();
    });
  }

  /** Resolves when all received events are applied; rejects if that is not possible for now. */
  current(): Promise<void> {
    if (this.#directory.isCurrent) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiting = this.#outcomes.on((error) => {
        waiting[Symbol.dispose]();
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  /** Lists the source again; settles like `current`. */
  refresh(): Promise<void> {
    this.#apply({ kind: "outdated" });
    return this.current();
  }

  /** Lists a source without events; settles like `current`. */
  listed(): Promise<void> {
    this.#apply({ kind: "source-up", position: undefined });
    return this.current();
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #stop(): void {
    this.#listing.abort();
    clearTimeout(this.#retry);
  }

  #apply(input: DirectoryInput): void {
    for (const told of this.#directory.apply(input)) {
      if (told.kind === "list-wanted") void this.#list(told.request);
      else this.#options.onNews(told);
    }
    if (this.#directory.isCurrent) this.#outcomes.emit(undefined);
  }

  /** Retries until there is an answer or the request is replaced. */
  async #list(request: number): Promise<void> {
    this.#stop();
    this.#listing = new AbortController();
    const { signal } = this.#listing;
    try {
      const snapshot = await this.#options.list(signal);
      if (signal.aborted) return;
      this.#backoff.reset();
      this.#apply({ kind: "list", request, snapshot });
    } catch (error) {
      if (signal.aborted) return;
      const isKnown = error instanceof ServiceError;
      this.#outcomes.emit(
        isKnown ? error : new ServiceError("internal_error", "not listed", { cause: error }),
      );
      // A listener may have replaced the request.
      if (!signal.aborted) this.#retry = setTimeout(() => void this.#list(request), this.#backoff.next());
    }
  }
}

/** The input for a directory; `undefined` if the event changes no session. */
function inputOf(event: ServerEvent): DirectoryInput | undefined {
  const { type, epoch, revision, previous } = event;
  const position: SourcePosition | undefined =
    epoch === undefined || revision === undefined ? undefined : { epoch, revision };
  if (type === "connected") return { kind: "source-up", position };
  if (!isSessionChange(event)) return undefined;
  if (position === undefined) return { kind: "outdated" };
  const change = { ...position, previous };
  const what = whatOf(event);
  return what === undefined ? { kind: "outdated" } : { kind: "change", change: { ...change, what } };
}

function whatOf({ type, key, record, remoteName }: ServerEvent): SessionChange["what"] | undefined {
  if (type === "session-removed") return key === undefined ? undefined : { kind: "removed", key };
  if (type === "remote-left") return remoteName === undefined ? undefined : { kind: type, remoteName };
  return record && { kind: "put", record, isNew: type === "session-start" };
}
