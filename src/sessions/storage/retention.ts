// `--keep-recordings`: ended sessions go with their recordings, the oldest first, when they are too old or too large together.
import type { Log } from "../../log.ts";
import { keyOf } from "../../protocol/directory/session-change.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { fileBytes } from "../journal/reader.ts";
import type { SessionFiles } from "./control-dir.ts";

/** `undefined`: no such limit. */
export type Keep = { readonly maxAgeMs: number | undefined; readonly maxBytes: number | undefined };

export type Ended = {
  readonly id: string;
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
  /** Of all its files. */
  readonly bytes: number;
};

type Surplus = Ended & { readonly because: "age" | "size" };

/** `isFinal`: the recording is written, and the size cannot change. */
type Size = { readonly bytes: number; readonly isFinal: boolean };

type RetentionOptions = {
  readonly keep: Keep;
  readonly list: () => readonly SessionRecord[];
  readonly controlDir: { session(id: string): SessionFiles };
  /** Removes the session unless its id belongs to another one by now. Returns whether it did. */
  readonly discard: (ended: Ended) => Promise<boolean>;
  readonly log: Pick<Log, "info" | "error">;
};

/** Intervals between checks: regular and minimum. */
const CHECK_INTERVAL_MS = 60_000;
const PAUSE_MS = 500;
/** Of one check; the next follows soon. */
const MAX_REMOVALS = 200;

/** The sessions to remove, oldest first. */
export function surplus(ended: readonly Ended[], keep: Keep, now: number): readonly Surplus[] {
  const { maxAgeMs = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = keep;
  const oldestFirst = ended.toReversed().sort((a, b) => a.endedAt - b.endedAt);
  let total = ended.reduce((sum, { bytes }) => sum + bytes, 0);
  const going: Surplus[] = [];
  for (const one of oldestFirst) {
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
  /** Final sizes by key. */
  #sizes = new Map<string, Size>();
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

  async #remove(one: Surplus): Promise<void> {
    const { id: session, endedAt, bytes, because } = one;
    const { discard, log } = this.#options;
    const fields = { session, endedAt: new Date(endedAt).toISOString(), bytes, because };
    try {
      if (await discard(one)) log.info(fields, "recording removed");
    } catch (error) {
      log.error({ ...fields, error }, "recording not removed");
    }
  }

  async #ended(): Promise<readonly Ended[]> {
    const ended: Ended[] = [];
    const sizes = new Map<string, Size>();
    for (const record of this.#options.list()) {
      const { id, exitedAt } = record;
      if (exitedAt === undefined) continue;
      const key = keyOf(record);
      const known = this.#sizes.get(key);
      const size = known ?? (await sizeOf(this.#options.controlDir.session(id)));
      if (size.isFinal) sizes.set(key, size);
      ended.push({ id, key, endedAt: Date.parse(exitedAt), bytes: size.bytes });
    }
    this.#sizes = sizes;
    return ended;
  }
}

async function sizeOf({ record, output, events, recording, checkpoint }: SessionFiles): Promise<Size> {
  const paths = [recording, record, output, events, checkpoint];
  const sizes = await Promise.all(paths.map((path) => fileBytes(path).catch(() => 0)));
  return { bytes: sizes.reduce((sum, bytes) => sum + bytes, 0), isFinal: sizes[0] !== 0 };
}
