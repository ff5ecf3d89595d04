// The connection to a Redis that several HQs share. All HQs receive all changes in the same order (contract 6.8).
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { Backoff } from "../../lib/async/backoff.ts";
import { withDeadline } from "../../lib/async/deadline.ts";
import { Emitter } from "../../lib/async/emitter.ts";
import { formatRedisAddress, type RedisAddress } from "../../lib/net/redis-address.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { REGISTRY_RETRY_MAX_MS, REGISTRY_TIMEOUT_MS, RETRY_FIRST_MS } from "../../protocol/limits.ts";
import { pairsOf, RedisLink, type StreamEntry } from "./redis-link.ts";
import { REGISTRY_KEYS, REVISION, type RunScript, type Script } from "./redis-scripts.ts";

export type RedisFollowerOptions = {
  readonly address: RedisAddress;
  /** Certificate authorities that are trusted besides the public ones, PEM. */
  readonly ca: Uint8Array | undefined;
  readonly log: Pick<Log, "info" | "warn">;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
};

export type Copy = {
  /** Reads everything over a new connection. Returns its revision. */
  read(run: RunScript): Promise<number>;
  apply(fields: Readonly<Record<string, string>>): void;
  /** Everything was read over a new connection, which can be used from now on. */
  ready(): void;
};

const FORGOTTEN = "its data was lost or replaced";
const Changed = z.tuple([z.int()], z.unknown());
const Revision = z.int();

/**
 * Each change increments the revision. While Redis is unreachable, `run` and `change` reject at once; the first call that
 * notices it rejects within REGISTRY_TIMEOUT_MS. After a reconnect, or a change that Redis refused, everything is read anew.
 */
export class RedisFollower {
  readonly #options: RedisFollowerOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #progress = new Emitter<void>();
  readonly #copy: Copy;
  #revision = 0;
  #link: RedisLink | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(options: RedisFollowerOptions, copy: Copy) {
    this.#options = options;
    this.#copy = copy;
    this.#backoff = new Backoff({
      ...{ firstMs: RETRY_FIRST_MS, maxMs: REGISTRY_RETRY_MAX_MS, random: options.random },
    });
  }

  get isConnected(): boolean {
    return this.#link !== undefined;
  }

  /** Reads everything. Throws `start_failed`. */
  async start(): Promise<void> {
    try {
      const link = await this.#connect();
      this.#following = this.#follow(link);
    } catch (error) {
      const where = formatRedisAddress(this.#options.address);
      throw new ServiceError("start_failed", `cannot use the registry at ${where}: ${textOf(error)}`);
    }
  }

  /** Rejects with `registry_unavailable`. */
  readonly run: RunScript = async (script, keys, values) => {
    try {
      if (this.#link === undefined) throw new Error("there is no connection");
      return await this.#link.run(script, keys, values);
    } catch (cause) {
      throw unavailable(cause);
    }
  };

  /**
   * Runs a script that returns a revision and results. Returns the results once that revision has arrived here. Rejects
   * with `registry_unavailable`: it is not known whether the change was made.
   */
  async change(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown[]> {
    const [link, before] = [this.#link, this.#revision];
    try {
      const [at, ...more] = Changed.parse(await this.run(script, keys, values));
      if (at < before) throw new Error(FORGOTTEN);
      await this.#reached(at);
      return more;
    } catch (error) {
      const problem = error instanceof ServiceError ? error : unavailable(error);
      // The reconnect reads everything anew.
      link?.fail(textOf(problem.cause));
      throw problem;
    }
  }

  /** `before` runs the last scripts. */
  async stop(before: () => Promise<unknown>): Promise<void> {
    this.#stop.abort();
    await before();
    this.#link?.[Symbol.dispose]();
    await this.#following;
  }

  async #follow(first: RedisLink): Promise<void> {
    const { log, address } = this.#options;
    const registry = formatRedisAddress(address);
    for (let link: RedisLink | undefined = first; link !== undefined; link = await this.#reconnect()) {
      if (link !== first) log.info({ registry }, "registry is back");
      this.#copy.ready();
      const reason = await this.#readChanges(link);
      if (!this.#stop.signal.aborted) {
        log.warn({ registry, reason }, "registry is unreachable: continuing with the local copy");
      }
    }
  }

  /** Returns the reason when the link fails. */
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

  /** Undefined after `stop`. */
  async #reconnect(): Promise<RedisLink | undefined> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await pause(this.#backoff.next(), undefined, { signal }).catch(() => undefined);
      try {
        return await this.#connect();
      } catch {
        // The loss was logged already.
      }
    }
    return undefined;
  }

  /** Reads everything over a new link. */
  async #connect(): Promise<RedisLink> {
    const { address, ca } = this.#options;
    const link = await RedisLink.open(address, ca, this.#stop.signal);
    try {
      this.#revision = await this.#copy.read((script, keys, values) => link.run(script, keys, values));
      // After `stop` nobody would close this link.
      this.#stop.signal.throwIfAborted();
      this.#link = link;
      this.#progress.emit();
      return link;
    } catch (error) {
      link[Symbol.dispose]();
      throw error;
    }
  }

  /** No changes for a while may also mean that Redis was replaced by an empty one, or refuses to write. */
  async #checkRevision(link: RedisLink): Promise<void> {
    const at = Revision.parse(await link.run(REVISION, [REGISTRY_KEYS.revision], []));
    if (at < this.#revision) throw new Error(FORGOTTEN);
  }

  #apply([entryId, fields]: StreamEntry): void {
    const at = Number.parseInt(entryId, 10);
    if (at !== this.#revision + 1) throw new Error("changes were missed");
    this.#revision = at;
    this.#copy.apply(Object.fromEntries(pairsOf(fields)));
    this.#progress.emit();
  }

  /** Resolves when the changes up to that revision have been applied. */
  async #reached(at: number): Promise<void> {
    if (this.#revision >= at) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _listening = this.#progress.on(() => {
      if (this.#revision >= at) resolve();
    });
    await withDeadline(promise, REGISTRY_TIMEOUT_MS, "the arrival of a change of this HQ");
  }
}

function unavailable(cause: unknown): ServiceError {
  const message = "the shared registry is unreachable: try again in a moment";
  return new ServiceError("registry_unavailable", message, { cause });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
