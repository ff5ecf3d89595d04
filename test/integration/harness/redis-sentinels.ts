// A Redis with a replica, a network in front of it, and three Sentinels that know it by that network; all with
// passwords.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { CutProxy } from "./cut-proxy.ts";
import { REDIS_PASSWORD, RedisServer, toldBy } from "./redis-server.ts";

const SENTINEL_PASSWORD = "watch&ward+";
const MASTER = "the-registry";
/** The number of Sentinels that must agree that the master is down. */
const QUORUM = 2;

export class RedisSentinels implements AsyncDisposable {
  readonly master: RedisServer;
  readonly replica: RedisServer;
  /** The network in front of the master. */
  readonly network: CutProxy;
  /** Address with both passwords. */
  readonly url: string;
  readonly #ports: readonly number[];
  readonly #owned: AsyncDisposable;

  private constructor(
    parts: Pick<RedisSentinels, "master" | "replica" | "network">,
    ports: readonly number[],
    owned: AsyncDisposable,
  ) {
    this.master = parts.master;
    this.replica = parts.replica;
    this.network = parts.network;
    this.#ports = ports;
    this.#owned = owned;
    this.url = sentinelUrl("redis", ports);
  }

  static async start(): Promise<RedisSentinels> {
    await using stack = new AsyncDisposableStack();
    const more = ["--masterauth", REDIS_PASSWORD, "--repl-diskless-sync-delay", "0"];
    const master = stack.use(await RedisServer.start({ more }));
    const network = stack.use(await CutProxy.open(master.host.port));
    const of = ["--replicaof", "127.0.0.1", `${master.host.port}`];
    const replica = stack.use(await RedisServer.start({ more: [...more, ...of] }));
    // A Sentinel asks the master for its replicas at its start, and then only every 10 s.
    await isCurrent(replica);
    const ports: number[] = [];
    const known = Number(new URL(network.url).port);
    for (let number = 0; number < 3; number++) ports.push(await startSentinel(stack, known));
    return new RedisSentinels({ master, replica, network }, ports, stack.move());
  }

  /** Kills the master once it can be replaced. Sentinels never promote a replica that had been without it for 5 s. */
  async kill(): Promise<void> {
    await isCurrent(this.replica);
    for (const port of this.#ports) await eventually(() => knowsAll(port), "a Sentinel that knows all");
    await this.master.kill();
  }

  /** From now on they replace a lost master; before that they wait. */
  async watch(): Promise<void> {
    const set = ["SET", MASTER, "down-after-milliseconds", "500"];
    for (const port of this.#ports) await askSentinel(port, (redis) => redis.call("SENTINEL", ...set));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#owned[Symbol.asyncDispose]());
  }
}

/** Of a Redis at this port of loopback. `more`: the last lines of its configuration. Resolves with its port. */
export async function startSentinel(
  stack: AsyncDisposableStack,
  redisPort: number,
  more: (port: number) => readonly string[] = () => [],
): Promise<number> {
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-sentinel-")));
  const port = await freePort();
  const file = join(folder.path, "sentinel.conf");
  const lines = [
    ...[`port ${port}`, "bind 127.0.0.1", `dir ${folder.path}`],
    ...[`requirepass ${SENTINEL_PASSWORD}`, `sentinel sentinel-pass ${SENTINEL_PASSWORD}`],
    `sentinel monitor ${MASTER} 127.0.0.1 ${redisPort} ${QUORUM}`,
    `sentinel auth-pass ${MASTER} ${REDIS_PASSWORD}`,
    `sentinel down-after-milliseconds ${MASTER} 600000`,
    `sentinel failover-timeout ${MASTER} 5000`,
    ...more(port),
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  const child = spawn("redis-server", [file, "--sentinel"], { stdio: ["ignore", "pipe", "ignore"] });
  stack.defer(() => killed(child));
  await toldBy(child, "+monitor");
  return port;
}

/** The address of a group of Sentinels, with all passwords. */
export function sentinelUrl(scheme: "redis" | "rediss", ports: readonly number[]): string {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(",");
  const [own, ofRedis] = [SENTINEL_PASSWORD, REDIS_PASSWORD].map(encodeURIComponent);
  return `${scheme}+sentinel://:${ofRedis}@${hosts}/${MASTER}?sentinel-password=${own}`;
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function askSentinel<T>(port: number, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({
    ...{ host: "127.0.0.1", port, password: SENTINEL_PASSWORD },
    ...{ lazyConnect: true, retryStrategy: () => undefined },
  });
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

async function isCurrent(replica: RedisServer): Promise<void> {
  const info = () => replica.ask((redis) => redis.info("replication"));
  await eventually(async () => (await info()).includes("master_link_status:up") || undefined, "the replica");
}

/** The other two Sentinels and the replica. */
async function knowsAll(port: number): Promise<true | undefined> {
  const told = String(await askSentinel(port, (redis) => redis.call("SENTINEL", "MASTER", MASTER)));
  return /num-slaves,1,.*num-other-sentinels,2,/.test(told) || undefined;
}
