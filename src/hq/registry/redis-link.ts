// The door to Redis: what a ledger asks of it, each with a deadline, over connections that fail together and for good.
import { Redis } from "ioredis";
import { withDeadline } from "../../lib/async/deadline.ts";
import type { RedisAddress } from "../../lib/net/redis-address.ts";
import { REGISTRY_CONNECT_TIMEOUT_MS, REGISTRY_TIMEOUT_MS, REGISTRY_WAIT_MS } from "../../protocol/limits.ts";
import { trusting } from "../../remote/trust.ts";
import type { Script } from "./redis-scripts.ts";

/** Entries of a stream that are read at once at most. */
const MAX_ENTRIES = 512;
/** How long the other end may take to agree that a connection is over. */
const CLOSE_TIMEOUT_MS = 100;

/** Its id, and names and values in turn. */
export type StreamEntry = readonly [id: string, fields: readonly string[]];

export class RedisLink implements Disposable {
  readonly #commands: Redis;
  /** Waits for changes most of the time, and can do nothing else meanwhile. */
  readonly #reader: Redis;
  /** The first thing that went wrong says more than what follows from it. */
  #problem: string | undefined;
  #isClosed = false;

  private constructor(address: RedisAddress, ca: Uint8Array | undefined) {
    [this.#commands, this.#reader] = [this.#connection(address, ca), this.#connection(address, ca)];
  }

  /** Authorities in `ca`, PEM, are trusted beside the public ones. Rejects with an Error that tells no credentials. */
  static async open(
    address: RedisAddress,
    ca: Uint8Array | undefined,
    signal: AbortSignal,
  ): Promise<RedisLink> {
    const link = new RedisLink(address, ca);
    const connected = Promise.all([link.#commands.connect(), link.#reader.connect()]);
    await link.#within(connected, REGISTRY_CONNECT_TIMEOUT_MS, "the connection", signal);
    return link;
  }

  /** What the script returns. */
  run({ name, text }: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const answer = this.#commands.eval(text, keys.length, ...keys, ...values);
    return this.#within(answer, REGISTRY_TIMEOUT_MS, `the script ${name}`);
  }

  /** Entries after `id`, the first that come; none when none came within LEDGER_WAIT_MS. */
  async readAfter(id: string, stream: string): Promise<readonly StreamEntry[]> {
    const answer = this.#reader.xread("COUNT", MAX_ENTRIES, "BLOCK", REGISTRY_WAIT_MS, "STREAMS", stream, id);
    const streams = await this.#within(answer, REGISTRY_WAIT_MS + REGISTRY_TIMEOUT_MS, "the next changes");
    return streams?.[0]?.[1] ?? [];
  }

  /** Nothing can be asked any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whatever still waits for an answer is rejected. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const redis of [this.#commands, this.#reader]) {
      hearErrors(redis);
      redis.disconnect();
    }
  }

  #connection(address: RedisAddress, ca: Uint8Array | undefined): Redis {
    const { host, port, database: db, username, password, isTls } = address;
    const redis = new Redis({
      ...{ host, port, db, connectionName: "ttyhq", lazyConnect: true },
      ...{ connectTimeout: REGISTRY_CONNECT_TIMEOUT_MS, disconnectTimeout: CLOSE_TIMEOUT_MS },
      enableOfflineQueue: false,
      // Whoever has a link makes a new one: a command is never sent twice.
      retryStrategy: () => undefined,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password: new TextDecoder().decode(password.bytes()) }),
      ...(isTls ? { tls: trusting(ca) } : {}),
    });
    redis.on("error", (error) => {
      this.#problem ??= textOf(error);
      hearErrors(redis);
    });
    redis.once("end", () => this[Symbol.dispose]());
    return redis;
  }

  /** Errors of the package hold the command, with what is secret in it: their text alone goes on. */
  async #within<T>(answer: Promise<T>, ms: number, what: string, signal?: AbortSignal): Promise<T> {
    try {
      return await withDeadline(answer, ms, what, signal);
    } catch (error) {
      // An error that Redis answers with is one command's; after any other there is no telling what was done.
      const isAnswer = error instanceof Error && error.name === "ReplyError";
      if (!isAnswer) this[Symbol.dispose]();
      throw new Error(isAnswer ? textOf(error) : (this.#problem ?? textOf(error)));
    }
  }
}

/** The package hears the first error of a connection alone: a second one, such as what TLS says at its end, would end us. */
function hearErrors({ stream }: { readonly stream?: Redis["stream"] }): void {
  stream?.on("error", () => {});
}

function textOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
