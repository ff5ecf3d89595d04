// Two connections to Redis that fail together and for good. Every command has a deadline.
import { Redis } from "ioredis";
import { withDeadline } from "../../lib/async/deadline.ts";
import type { RedisAddress } from "../../lib/net/redis-address.ts";
import { REGISTRY_CONNECT_TIMEOUT_MS, REGISTRY_TIMEOUT_MS, REGISTRY_WAIT_MS } from "../../protocol/limits.ts";
import { trusting } from "../../remote/trust.ts";
import type { Script } from "./redis-scripts.ts";

/** Limit for stream entries in one read. */
const MAX_ENTRIES = 512;
/** Time for Redis to close its side of a connection. */
const CLOSE_TIMEOUT_MS = 100;

/** The id of the entry; alternating names and values. */
export type StreamEntry = readonly [id: string, fields: readonly string[]];

export class RedisLink implements Disposable {
  readonly #commands: Redis;
  /** Blocks in reads of the stream of changes. */
  readonly #reader: Redis;
  /** The first error is reported, since later ones are its consequences. */
  #problem: string | undefined;
  #isClosed = false;

  private constructor(address: RedisAddress, ca: Uint8Array | undefined) {
    [this.#commands, this.#reader] = [this.#connection(address, ca), this.#connection(address, ca)];
  }

  /** `ca`: certificate authorities that are trusted besides the public ones, PEM. Errors contain no credentials. */
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

  run({ name, text }: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const answer = this.#commands.eval(text, keys.length, ...keys, ...values);
    return this.#within(answer, REGISTRY_TIMEOUT_MS, `the script ${name}`);
  }

  /** The next entries after `id`; none if none arrive within REGISTRY_WAIT_MS. */
  async readAfter(id: string, stream: string): Promise<readonly StreamEntry[]> {
    const answer = this.#reader.xread("COUNT", MAX_ENTRIES, "BLOCK", REGISTRY_WAIT_MS, "STREAMS", stream, id);
    const streams = await this.#within(answer, REGISTRY_WAIT_MS + REGISTRY_TIMEOUT_MS, "the next changes");
    return streams?.[0]?.[1] ?? [];
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Pending commands are rejected. */
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
      // The follower opens a new link instead, so that no command is ever sent twice.
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

  /** Errors of the package contain the command with its secrets, so only their message is passed on. */
  async #within<T>(answer: Promise<T>, ms: number, what: string, signal?: AbortSignal): Promise<T> {
    try {
      return await withDeadline(answer, ms, what, signal);
    } catch (error) {
      // An error reply concerns one command. After any other error it is unknown which commands were executed.
      const isAnswer = error instanceof Error && error.name === "ReplyError";
      if (!isAnswer) this[Symbol.dispose]();
      throw new Error(isAnswer ? textOf(error) : (this.#problem ?? textOf(error)));
    }
  }
}

/** The package handles only the first error of a connection. A second one, such as TLS reports at its end, would be fatal. */
function hearErrors({ stream }: { readonly stream?: Redis["stream"] }): void {
  stream?.on("error", () => {});
}

function textOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
