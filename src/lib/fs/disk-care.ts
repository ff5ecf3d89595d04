import { Backoff } from "../async/backoff.ts";
import { KeyedMutex } from "../async/mutex.ts";
import { isErrno } from "./atomic-file.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;
/** A disk that takes something for shorter is not right yet: the pauses go on where they were. */
const STABLE_MS = 30_000;

export type DiskCareOptions = {
  readonly log: Record<
    "info" | "error",
    (fields: Readonly<Record<string, unknown>>, message: string) => void
  >;
  /** Of a folder on the disk. */
  readonly path: string;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/**
 * What a disk did not take is tried again until it does: after half a second, then less and less often, at least every
 * 5 s. Writes of one name take turns, tried for the first time or again: one that writes what is known when its turn
 * comes is not undone by an older one. The log hears of the first that failed, and when nothing waits any more. As many
 * wait as there are files to be written.
 */
export class DiskCare implements AsyncDisposable {
  readonly #options: DiskCareOptions;
  /** By what they write, in the order in which they failed: a recording comes after its journal. */
  readonly #waiting = new Map<string, () => Promise<void>>();
  readonly #mutex = new KeyedMutex();
  readonly #backoff = new Backoff({ firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, random: () => 0 });
  #rightSinceMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: DiskCareOptions) {
    this.#options = options;
  }

  /** Whether anything is still to be written. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** `write` is done in its turn; where it fails for the disk's sake, it is tried again later. Rejects with other errors. */
  async attempt(name: string, write: () => Promise<void>): Promise<void> {
    try {
      await this.#mutex.take(name, write);
    } catch (error) {
      if (!isDiskFault(error)) throw error;
      this.failed(name, error, write);
    }
  }

  /** The same, but rejects with what the disk says: for whoever has to know that it is not stored yet. */
  async insist(name: string, write: () => Promise<void>): Promise<void> {
    try {
      await this.#mutex.take(name, write);
    } catch (error) {
      if (isDiskFault(error)) this.failed(name, error, write);
      throw error;
    }
  }

  /** `retry` rejects as long as the disk does not take it; it takes the place of another one of that name. */
  failed(name: string, error: unknown, retry: () => Promise<void>): void {
    const { log, path, now } = this.#options;
    if (!this.isWaiting) {
      log.error(
        { error, path, fault: diskFault(error, path) },
        "disk not written: what is to be stored waits",
      );
      if (now() - this.#rightSinceMs > STABLE_MS) this.#backoff.reset();
    }
    this.#waiting.set(name, retry);
    this.#arm();
  }

  /** Tries a last time. What the disk does not take then is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (this.isWaiting) await this.#round();
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#retry(), this.#backoff.next());
    this.#timer.unref();
  }

  async #retry(): Promise<void> {
    await this.#round();
    this.#timer = undefined;
    if (this.isWaiting) this.#arm();
  }

  async #round(): Promise<void> {
    for (const [name, retry] of [...this.#waiting]) await this.#try(name, retry);
    if (this.isWaiting) return;
    const { log, path, now } = this.#options;
    this.#rightSinceMs = now();
    log.info({ path }, "disk written again");
  }

  async #try(name: string, retry: () => Promise<void>): Promise<void> {
    try {
      await this.#mutex.take(name, retry);
    } catch (error) {
      if (isDiskFault(error)) return;
      this.#options.log.error({ error, name }, "not written, and not tried again");
    }
    if (this.#waiting.get(name) === retry) this.#waiting.delete(name);
  }
}

/** What to tell of each: the fault, and the way out. `path` is on the disk. */
const FAULTS: Readonly<Record<string, (path: string) => string>> = {
  ENOSPC: (path) => `the disk of ${path} has no space or no inodes left: make room there`,
  EDQUOT: (path) => `the quota on the disk of ${path} is used up: make room there`,
  EROFS: (path) => `the disk of ${path} is read-only: mount it writable`,
  EIO: (path) => `the disk of ${path} fails: look into the system's log`,
};

/** What the system was short of at that moment, and a disk on the network that did not answer in time. */
const SHORTAGES = ["EMFILE", "ENFILE", "ENOMEM", "ETIMEDOUT"];

/** Of what may pass by itself, or when somebody sees to it: what could not be written is worth another try. */
export function isDiskFault(error: unknown): boolean {
  return [...Object.keys(FAULTS), ...SHORTAGES].some((code) => isErrno(error, code));
}

/** The fault as a sentence; undefined for an error that is none. */
export function diskFault(error: unknown, path: string): string | undefined {
  return Object.entries(FAULTS).find(([code]) => isErrno(error, code))?.[1](path);
}
