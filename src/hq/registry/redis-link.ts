// Two connections to Redis that fail together and for good. Every command has a deadline.
import { Redis } from "ioredis";
import { z } from "zod";
import { withDeadline } from "../../lib/async/deadline.ts";
import type { RedisAddress, RedisHost, RedisLogin } from "../../lib/net/redis-address.ts";
import {
  REGISTRY_CONNECT_TIMEOUT_MS,
  REGISTRY_TIMEOUT_MS,
  REGISTRY_WAIT_MS,
  SENTINEL_TIMEOUT_MS,
} from "../../protocol/limits.ts";
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
  private constructor(connections: readonly [Redis, Redis]) {
    [this.#commands, this.#reader] = connections;
    for (const redis of connections) {
      redis.on("error", (error) => {
        this.#problem ??= textOf(error);
        hearErrors(redis);
      });
      redis.once("end", () => this[Symbol.dispose]());
    }
  }

  /** `ca`: certificate authorities that are trusted besides the public ones, PEM. Errors contain no credentials. */
  static async open(
    address: RedisAddress,
    ca: Uint8Array | undefined,
    signal: AbortSignal,
  ): Promise<RedisLink> {
    const host = await masterOf(address, ca, signal);
    const connection = (): Redis => connectionTo(host, { ...address, ca });
    const link = new RedisLink([connection(), connection()]);
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

  /** Pending commands are rejected, with this reason if it is the first problem. */
  fail(reason: string): void {
    this.#problem ??= reason;
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const redis of [this.#commands, this.#reader]) {
      hearErrors(redis);
      redis.disconnect();
    }
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

/** The Redis of a plain address. With Sentinels, the master of the latest failover. */
async function masterOf(
  { hosts, sentinel, ...rest }: RedisAddress,
  ca: Uint8Array | undefined,
  signal: AbortSignal,
): Promise<RedisHost> {
  const [first] = hosts;
  if (first === undefined) throw new Error("there is no host");
  if (sentinel === undefined) return first;
  const options = { ...rest, ...sentinel, database: 0, ca };
  // All are asked: one that was cut off from the others names the former master.
  const asked = await Promise.allSettled(
    hosts.map((host) => askSentinel(connectionTo(host, options), sentinel.master, signal)),
  );
  const told = asked.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  const [latest] = told.toSorted((one, other) => other.epoch - one.epoch);
  if (latest !== undefined) return latest;
  const reasons = asked.map((answer) => (answer.status === "rejected" ? textOf(answer.reason) : ""));
  throw new Error(`no Sentinel knows ${sentinel.master}: ${[...new Set(reasons)].join(", ")}`);
}

type Master = RedisHost & { readonly epoch: number };

async function askSentinel(redis: Redis, master: string, signal: AbortSignal): Promise<Master> {
  let problem: string | undefined;
  redis.on("error", (error) => {
    problem ??= textOf(error);
    hearErrors(redis);
  });
  const answer = redis.connect().then(() => redis.call("SENTINEL", "MASTER", master));
  try {
    const list = await withDeadline(answer, SENTINEL_TIMEOUT_MS, "the answer of a Sentinel", signal);
    const told = new Map(pairsOf(z.array(z.string()).parse(list)));
    return SentinelMaster.parse(Object.fromEntries(told));
  } catch (error) {
    throw new Error(problem ?? textOf(error));
  } finally {
    hearErrors(redis);
    redis.disconnect();
  }
}

const SentinelMaster = z
  .object({ ip: z.string(), port: z.coerce.number(), "config-epoch": z.coerce.number() })
  .transform(({ ip: host, port, "config-epoch": epoch }) => ({ host, port, epoch }));

type ConnectionOptions = RedisLogin &
  Pick<RedisAddress, "isTls" | "database"> & { readonly ca: Uint8Array | undefined };

/** Never reconnects: the tables open a new link instead, so that no command is ever sent twice. */
function connectionTo({ host, port }: RedisHost, options: ConnectionOptions): Redis {
  const { database: db, username, password, isTls, ca } = options;
  return new Redis({
    ...{ host, port, db, connectionName: "ttyhq", lazyConnect: true },
    ...{ connectTimeout: REGISTRY_CONNECT_TIMEOUT_MS, disconnectTimeout: CLOSE_TIMEOUT_MS },
    ...{ enableOfflineQueue: false, retryStrategy: () => undefined },
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: new TextDecoder().decode(password.bytes()) }),
    ...(isTls ? { tls: trusting(ca) } : {}),
  });
}

/** Redis lists names and values alternately. */
export function pairsOf(list: readonly string[]): readonly (readonly [string, string])[] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1] ?? ""] as const] : []));
}

/** The package handles only the first error of a connection. A second one, such as TLS reports at its end, would be fatal. */
function hearErrors({ stream }: { readonly stream?: Redis["stream"] }): void {
  stream?.on("error", () => {});
}

function textOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
