// The connection to a Redis that several HQs share. All of them hear of every change in the same order (contract 6.8).
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { Backoff } from "../../lib/async/backoff.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { formatRedisAddress, type RedisAddress } from "../../lib/net/redis-address.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { REGISTRY_RETRY_MAX_MS, REGISTRY_TIMEOUT_MS, RETRY_FIRST_MS } from "../../protocol/limits.ts";
import { RedisLink, type StreamEntry } from "./redis-link.ts";
import { REGISTRY_KEYS, REVISION, type RunScript, type Script } from "./redis-scripts.ts";

export type FollowerLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};

export type RedisFollowerOptions = {
  readonly address: RedisAddress;
  /** Authorities that are trusted beside the public ones, PEM. */
  readonly ca: Uint8Array | undefined;
  readonly log: FollowerLog;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
};

/** One kind of data in that Redis, of which this process has a copy. */
export type FollowedPart = {
  /** Reads everything over a new connection. Returns the revision that it read. */
  read(run: RunScript): Promise<number>;
  /** A change, by name. May be older than what was read; parts ignore what is of no other concern to them. */
  apply(fields: Readonly<Record<string, string>>): void;
  /** All parts were read over a new connection, which can be used from now on. */
  ready(): void;
};

/** It is not the Redis any more that it was. */
const FORGOTTEN = "it has forgotten what it knew";
const Changed = z.tuple([z.int()], z.unknown());
const Revision = z.int();

/**
 * Each change has a revision, one more than the last. While Redis is out of reach `run` and `change` reject at once, or
 * within LEDGER_TIMEOUT_MS when that is news; when it is back, or takes changes again that it refused, everything is read
 * anew.
 */
export class RedisFollower implements AsyncDisposable {
  readonly #options: RedisFollowerOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #progress = new Emitter<void>();
  /** The first says which revision the others are followed from. */
  readonly #parts: FollowedPart[] = [];
  #revision = 0;
  #link: RedisLink | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(options: RedisFollowerOptions) {
    this.#options = options;
    this.#backoff = new Backoff({
      ...{ firstMs: RETRY_FIRST_MS, maxMs: REGISTRY_RETRY_MAX_MS, random: options.random },
    });
  }

  /** Whether it can be reached at this moment. */
  get isConnected(): boolean {
    return this.#link !== undefined;
  }

  /** Reads one more part, the first over the first connection. Throws `start_failed`. */
  async add(part: FollowedPart): Promise<void> {
    try {
      this.#parts.push(part);
      if (this.#parts.length > 1) {
        await part.read(this.run);
        return;
      }
      const link = await this.#connect();
      part.ready();
      this.#following = this.#follow(link);
    } catch (error) {
      const where = formatRedisAddress(this.#options.address);
      throw new ServiceError("start_failed", `cannot use the registry at ${where}: ${textOf(error)}`);
    }
  }

  readonly run: RunScript = (script, keys, values) =>
    this.#link?.run(script, keys, values) ?? Promise.reject(new Error("the registry is out of reach"));

  /**
   * Runs a script that returns a revision and more, waits until that revision has come back here, and returns the more.
   */
  async change(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown[]> {
    const [link, before] = [this.#link, this.#revision];
    try {
      const [at, ...more] = Changed.parse(await this.run(script, keys, values));
      if (at < before) throw new Error(FORGOTTEN);
      await this.#reached(at);
      return more;
    } catch (error) {
      // That it is out of reach is said once, by whoever follows the changes.
      if (link !== undefined && !link.isClosed) {
        this.#options.log.error({ reason: textOf(error) }, "registry not kept");
      }
      // Whether or not it was done: what Redis refuses now it may take in a moment, and by then everything is read anew.
      link?.[Symbol.dispose]();
      throw error;
    }
  }

  /** `before`: the last thing that is asked. */
  async stop(before: () => Promise<void>): Promise<void> {
    this.#stop.abort();
    await before();
    this.#link?.[Symbol.dispose]();
    await this.#following;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(async () => {});
  }

  /** Until it is disposed of. */
  async #follow(first: RedisLink): Promise<void> {
    const { log, address } = this.#options;
    const registry = formatRedisAddress(address);
    for (let link: RedisLink | undefined = first; link !== undefined; link = await this.#reconnect()) {
      if (link !== first) {
        log.info({ registry }, "registry is back");
        for (const part of this.#parts) part.ready();
      }
      const reason = await this.#readChanges(link);
      if (!this.#stop.signal.aborted) {
        log.warn({ registry, reason }, "registry is out of reach: going on with what is known");
      }
    }
  }

  /** Until the link fails. Returns why. */
  async #readChanges(link: RedisLink): Promise<string> {
    try {
      for (;;) {
        const entries = await link.readAfter(`${this.#revision}-0`, REGISTRY_KEYS.changes);
        this.#backoff.reset();
        for (const entry of entries) this.#apply(entry);
        if (entries.length === 0) await this.#checkRevision(link);
      }
    } catch (error) {
      return textOf(error);
    } finally {
      this.#link = undefined;
      link[Symbol.dispose]();
    }
  }

  /** Undefined when it is disposed of. */
  async #reconnect(): Promise<RedisLink | undefined> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await pause(this.#backoff.next(), undefined, { signal }).catch(() => undefined);
      try {
        return await this.#connect();
      } catch {
        // That it is out of reach was said.
      }
    }
    return undefined;
  }

  /** Reads everything over a new link. */
  async #connect(): Promise<RedisLink> {
    const { address, ca } = this.#options;
    const link = await RedisLink.open(address, ca, this.#stop.signal);
    try {
      const run: RunScript = (script, keys, values) => link.run(script, keys, values);
      const revisions: number[] = [];
      for (const part of this.#parts) revisions.push(await part.read(run));
      this.#revision = revisions[0] ?? 0;
      // Of one that was disposed of meanwhile nobody would close it.
      this.#stop.signal.throwIfAborted();
      this.#link = link;
      this.#progress.emit();
      return link;
    } catch (error) {
      link[Symbol.dispose]();
      throw error;
    }
  }

  /** Nothing came for a while: because nothing happened, one would think. */
  async #checkRevision(link: RedisLink): Promise<void> {
    const at = Revision.parse(await link.run(REVISION, [REGISTRY_KEYS.revision], []));
    if (at < this.#revision) throw new Error(FORGOTTEN);
  }

  #apply([entryId, fields]: StreamEntry): void {
    const at = Number.parseInt(entryId, 10);
    if (at !== this.#revision + 1) throw new Error("changes were missed");
    this.#revision = at;
    const changed = fieldsOf(fields);
    for (const part of this.#parts) part.apply(changed);
    this.#progress.emit();
  }

  /** That it is known here what has happened. */
  async #reached(at: number): Promise<void> {
    if (this.#revision >= at) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _listening = this.#progress.on(() => {
      if (this.#revision >= at) resolve();
    });
    await withDeadline(promise, REGISTRY_TIMEOUT_MS, "hearing of a change of our own");
  }
}

function fieldsOf(fields: readonly string[]): Readonly<Record<string, string>> {
  const pairs = fields.flatMap((name, index) => (index % 2 === 0 ? [[name, fields[index + 1] ?? ""]] : []));
  return Object.fromEntries(pairs);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
