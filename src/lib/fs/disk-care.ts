import { KeyedMutex } from "../async/mutex.ts";
import { RetryTimer } from "../async/retry-timer.ts";
import { isErrno } from "./atomic-file.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;
/** A disk that works for less than this is not stable yet: the pauses do not start over. */
const STABLE_MS = 30_000;

type DiskCareOptions = {
  readonly log: Record<
    "info" | "error",
    (fields: Readonly<Record<string, unknown>>, message: string) => void
  >;
  /** A folder on the disk. */
  readonly path: string;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
};

/**
 * Retries failed writes until they succeed, at least every 5 s. Writes of one name are serialised, so that an older one
 * cannot undo a newer one; at most one of them waits. The log reports the first failure, and the end of all.
 */
export class DiskCare implements AsyncDisposable {
  readonly #options: DiskCareOptions;
  /** By name, in the order of failure: a recording comes after its journal. */
  readonly #waiting = new Map<string, () => Promise<void>>();
  readonly #mutex = new KeyedMutex();
  readonly #retry = new RetryTimer({
    ...{ firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS },
    retry: () => void this.#round(),
  });
  #rightSinceMs = Number.NEGATIVE_INFINITY;

  constructor(options: DiskCareOptions) {
    this.#options = options;
  }

  /** Whether a write waits. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Runs `write` in its turn; after a disk fault it is retried later. Rejects with other errors. */
  async attempt(name: string, write: () => Promise<void>): Promise<void> {
    await this.insist(name, write).catch((error: unknown) => {
      if (!isDiskFault(error)) throw error;
    });
  }

  /** The same, but also rejects with a disk fault, for callers that must know that it is not stored yet. */
  async insist(name: string, write: () => Promise<void>): Promise<void> {
    try {
      await this.#mutex.take(name, write);
    } catch (error) {
      if (isDiskFault(error)) this.failed(name, error, write);
      throw error;
    }
  }

  /** `retry` replaces a waiting write of that name. */
  failed(name: string, error: unknown, retry: () => Promise<void>): void {
    const { log, path, now } = this.#options;
    if (!this.isWaiting) {
      log.error(
        { error, path, fault: diskFault(error, path) },
        "disk not written: what is to be stored waits",
      );
      if (now() - this.#rightSinceMs > STABLE_MS) this.#retry.stop();
      this.#retry.start();
    }
    this.#waiting.set(name, retry);
  }

  /** Tries a last time. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#retry[Symbol.dispose]();
    if (this.isWaiting) await this.#round();
  }

  async #round(): Promise<void> {
    for (const [name, retry] of [...this.#waiting]) await this.#try(name, retry);
    if (this.isWaiting) return this.#retry.start();
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

/** The fault and the way out; `path` is on the disk. */
const FAULTS: Readonly<Record<string, (path: string) => string>> = {
  ENOSPC: (path) => `the disk of ${path} has no space or no inodes left: make room there`,
  EDQUOT: (path) => `the quota on the disk of ${path} is used up: make room there`,
  EROFS: (path) => `the disk of ${path} is read-only: mount it writable`,
  EIO: (path) => `the disk of ${path} fails: look into the system's log`,
};

/** Shortages of the system, and network disks that did not answer in time. */
const SHORTAGES = ["EMFILE", "ENFILE", "ENOMEM", "ETIMEDOUT"];

/** Whether the fault may pass, so that writing again is worthwhile. */
export function isDiskFault(error: unknown): boolean {
  return isErrno(error, ...Object.keys(FAULTS), ...SHORTAGES);
}

/** The fault as a sentence; undefined for other errors. */
export function diskFault(error: unknown, path: string): string | undefined {
  return Object.entries(FAULTS).find(([code]) => isErrno(error, code))?.[1](path);
}
