// Ships audit lines to receivers, each at its own pace, without delaying the server or the file.
import { setTimeout } from "node:timers/promises";
import { Backoff } from "../../lib/async/backoff.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import type { Log } from "../../log.ts";
import type { Audit } from "../entry.ts";

export type AuditReceiver = Disposable & {
  /** For logs and metrics, without secrets. */
  readonly name: string;
  /**
   * Resolves with the number of accepted lines, from the start, at least one. Rejects if none was accepted in time:
   * the same lines are sent again.
   */
  deliver(lines: readonly string[]): Promise<number>;
};

/** Bounds of the waiting lines (UTF-16 units). Over them new lines are dropped and counted. */
const MAX_WAITING_LINES = 10_000;
const MAX_WAITING_LENGTH = 16 * 1024 * 1024;
/** Bounds of one delivery. */
const MAX_BATCH_LINES = 500;
const MAX_BATCH_LENGTH = 256 * 1024;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
const STOP_TIMEOUT_MS = 2_000;

type ShipperOptions = {
  readonly receiver: AuditReceiver;
  /** Records the number of dropped lines once the receiver accepts lines again. */
  readonly audit: Audit;
  readonly log: Pick<Log, "warn" | "info" | "error">;
  readonly random: () => number;
};

/** Ships to one receiver, in order and in batches. A failed batch is sent again, so that lines may arrive twice. */
export class Shipper implements AsyncDisposable {
  readonly #options: ShipperOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #waiting: string[] = [];
  #waitingLength = 0;
  #running: Promise<void> | undefined;
  #shipped = 0;
  #dropped = 0;
  /** Dropped since the receiver last accepted lines. */
  #gap = 0;
  #isFailing = false;

  constructor(options: ShipperOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ firstMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS, random: options.random });
  }

  get name(): string {
    return this.#options.receiver.name;
  }

  get counts(): { readonly shipped: number; readonly dropped: number } {
    return { shipped: this.#shipped, dropped: this.#dropped };
  }

  /** Never throws or blocks. */
  ship(lines: readonly string[]): void {
    for (const line of lines) {
      const isFull =
        this.#waiting.length >= MAX_WAITING_LINES || this.#waitingLength + line.length > MAX_WAITING_LENGTH;
      if (isFull || this.#stop.signal.aborted) this.#drop(1);
      else {
        this.#waiting.push(line);
        this.#waitingLength += line.length;
      }
    }
    this.#running ??= this.#run();
  }

  /** Drops lines that the receiver does not accept within 2 s. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { receiver, log } = this.#options;
    await withDeadline(this.#running ?? Promise.resolve(), STOP_TIMEOUT_MS, receiver.name).catch(
      () => undefined,
    );
    this.#stop.abort();
    receiver[Symbol.dispose]();
    this.#drop(this.#waiting.length);
    if (this.#gap > 0) log.error({ receiver: receiver.name, lost: this.#gap }, "audit lines not shipped");
  }

  async #run(): Promise<void> {
    const { receiver, log } = this.#options;
    // Collects all lines of this turn.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      try {
        this.#took(await receiver.deliver(this.#batch()));
      } catch (error) {
        if (!this.#isFailing) log.warn({ receiver: this.name, error }, "audit receiver takes no lines");
        this.#isFailing = true;
        await setTimeout(this.#backoff.next(), undefined, { signal: this.#stop.signal }).catch(
          () => undefined,
        );
      }
    }
    this.#running = undefined;
  }

  #batch(): readonly string[] {
    let length = 0;
    const end = this.#waiting.findIndex((line, index) => {
      length += line.length;
      return index > 0 && (index === MAX_BATCH_LINES || length > MAX_BATCH_LENGTH);
    });
    return this.#waiting.slice(0, end === -1 ? undefined : end);
  }

  #took(count: number): void {
    if (this.#stop.signal.aborted) return;
    const { receiver, audit, log } = this.#options;
    for (const line of this.#waiting.splice(0, count)) this.#waitingLength -= line.length;
    this.#shipped += count;
    this.#backoff.reset();
    if (this.#isFailing) log.info({ receiver: receiver.name }, "audit receiver takes lines again");
    this.#isFailing = false;
    const lost = this.#gap;
    if (lost === 0) return;
    this.#gap = 0;
    log.error({ receiver: receiver.name, lost }, "audit lines not shipped");
    audit.write({ action: "audit.unshipped", result: "failed", details: { receiver: receiver.name, lost } });
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#gap += count;
  }
}
