// `--keep-recordings`: ended sessions go with their recordings, the oldest first, when they are too old or too large together.
import type { Log } from "../../log.ts";
import { fileBytes } from "../journal/reader.ts";
import type { Session } from "../session.ts";

/** `undefined`: no such limit. */
export type Keep = { readonly maxAgeMs: number | undefined; readonly maxBytes: number | undefined };

/** An ended session: the time in milliseconds since the epoch, and the bytes of all its files. */
type Ended = { readonly endedAt: number; readonly bytes: number };
type EndedSession = Ended & { readonly session: Session };
type Surplus<T extends Ended> = T & { readonly because: "age" | "size" };

type RetentionOptions = {
  readonly keep: Keep;
  /** Running and ended ones. */
  readonly sessions: () => Iterable<Session>;
  /** Returns whether the session was still there. */
  readonly discard: (session: Session) => Promise<boolean>;
  readonly log: Pick<Log, "info" | "error">;
};

/** Intervals between checks: regular and minimum. */
const CHECK_INTERVAL_MS = 60_000;
const PAUSE_MS = 500;
/** Of one check; the next follows soon. */
const MAX_REMOVALS = 200;

/** The sessions to remove, oldest first. */
export function surplus<T extends Ended>(ended: readonly T[], keep: Keep, now: number): Surplus<T>[] {
  const { maxAgeMs = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = keep;
  let total = ended.reduce((sum, { bytes }) => sum + bytes, 0);
  const going: Surplus<T>[] = [];
  for (const one of ended.toSorted((a, b) => a.endedAt - b.endedAt)) {
    const isOld = now - one.endedAt > maxAgeMs;
    if (!isOld && total <= maxBytes) break;
    total -= one.bytes;
    going.push({ ...one, because: isOld ? "age" : "size" });
  }
  return going;
}

/** Checks at the start, on request and every minute; removes at most MAX_REMOVALS sessions at a time. */
export class Retention implements AsyncDisposable {
  readonly #options: RetentionOptions;
  /** Sizes that do not change any more, in bytes. */
  readonly #sizes = new WeakMap<Session, number>();
  #isClosed = false;
  readonly #regular = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  #soon: NodeJS.Timeout | undefined;
  #checks = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.check();
  }

  /** A session has ended. Sessions that end meanwhile share the check. */
  check(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#checks = this.#checks.then(() => this.#pass());
    }, PAUSE_MS).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#regular);
    clearTimeout(this.#soon);
    await this.#checks;
  }

  async #pass(): Promise<void> {
    const { keep, log } = this.#options;
    try {
      const going = surplus(await this.#ended(), keep, Date.now());
      for (const one of going.slice(0, MAX_REMOVALS)) {
        if (this.#isClosed) return;
        await this.#remove(one);
      }
      if (going.length > MAX_REMOVALS) this.check();
    } catch (error) {
      log.error({ error }, "old recordings not removed");
    }
  }

  async #remove({ session, endedAt, bytes, because }: Surplus<EndedSession>): Promise<void> {
    const { discard, log } = this.#options;
    const fields = { session: session.id, endedAt: new Date(endedAt).toISOString(), bytes, because };
    try {
      if (await discard(session)) log.info(fields, "recording removed");
    } catch (error) {
      log.error({ ...fields, error }, "recording not removed");
    }
  }

  async #ended(): Promise<readonly EndedSession[]> {
    const ended: EndedSession[] = [];
    for (const session of this.#options.sessions()) {
      const { exit } = session.stored;
      if (exit === undefined) continue;
      ended.push({ session, endedAt: Date.parse(exit.at), bytes: await this.#bytesOf(session) });
    }
    return ended;
  }

  async #bytesOf(session: Session): Promise<number> {
    const known = this.#sizes.get(session);
    if (known !== undefined) return known;
    const { record, output, events, recording, checkpoint } = session.files;
    const paths = [recording, record, output, events, checkpoint];
    const sizes = await Promise.all(paths.map((path) => fileBytes(path).catch(() => 0)));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    // The recording is written last.
    if (sizes[0] !== 0) this.#sizes.set(session, bytes);
    return bytes;
  }
}
