// A real Redis on a free port of loopback, with a folder of its own; it can be stopped, frozen and restarted.
import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Redis } from "ioredis";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import type { RedisHost } from "../../../src/lib/net/redis-address.ts";
import { PATIENCE_MS } from "./patience.ts";

export const REDIS_PASSWORD = "open+sesame";

type Folder = AsyncDisposable & { readonly path: string };

/** PEM; TLS needs all three. */
export type RedisTls = { readonly ca: Uint8Array; readonly cert: Uint8Array; readonly key: Uint8Array };

/** `more`: arguments of redis-server. */
type RedisServerOptions = { readonly tls?: RedisTls | undefined; readonly more?: readonly string[] };

export class RedisServer implements AsyncDisposable {
  /** With its password. */
  readonly url: string;
  readonly #port: number;
  readonly #folder: Folder;
  readonly #tls: RedisTls | undefined;
  readonly #more: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(port: number, folder: Folder, { tls, more = [] }: RedisServerOptions) {
    this.#port = port;
    this.#more = more;
    this.#folder = folder;
    this.#tls = tls;
    const scheme = tls === undefined ? "redis" : "rediss";
    this.url = `${scheme}://:${encodeURIComponent(REDIS_PASSWORD)}@127.0.0.1:${port}`;
  }

  /** Needs the program `redis-server`, which is a Debian package of its own. */
  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-redis-"));
    const { tls } = options;
    const server = new RedisServer(await freePort(), folder, options);
    await Promise.all(
      Object.entries(tls ?? {}).map(([name, pem]) => writeFile(join(folder.path, `${name}.pem`), pem)),
    );
    await server.resume();
    return server;
  }

  get host(): RedisHost {
    return { host: "127.0.0.1", port: this.#port };
  }

  /** Of TLS, by the names of its options. */
  get files(): Readonly<Record<"cert" | "key" | "ca-cert", string>> {
    const file = (name: string): string => join(this.#folder.path, `${name}.pem`);
    return { cert: file("cert"), key: file("key"), "ca-cert": file("ca") };
  }

  /** Disconnects everybody. */
  async stop({ isDataKept }: { readonly isDataKept: boolean }): Promise<void> {
    if (isDataKept) await this.ask((redis) => redis.save());
    else await rm(join(this.#folder.path, "dump.rdb"), { force: true });
    await this.kill();
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** Restarts with its data, on the same port. */
  async resume(): Promise<void> {
    const own = [
      "--bind",
      "127.0.0.1",
      "--save",
      "",
      "--dir",
      this.#folder.path,
      "--requirepass",
      REDIS_PASSWORD,
    ];
    const child = spawn("redis-server", [...own, ...this.#listenOptions(), ...this.#more], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#process = child;
    await toldBy(child, "Ready to accept connections");
  }

  /** Stops answering, without closing connections. */
  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  /** A connection for inspection by the test. */
  async ask<T>(question: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.url, {
      ...{ lazyConnect: true, retryStrategy: () => undefined },
      ...(this.#tls === undefined ? {} : { tls: { ca: Buffer.from(this.#tls.ca) } }),
    });
    try {
      await redis.connect();
      return await question(redis);
    } finally {
      redis.disconnect();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#folder[Symbol.asyncDispose]();
  }

  #listenOptions(): readonly string[] {
    if (this.#tls === undefined) return ["--port", `${this.#port}`];
    const files = Object.entries(this.files).flatMap(([name, path]) => [`--tls-${name}-file`, path]);
    return ["--port", "0", "--tls-port", `${this.#port}`, "--tls-auth-clients", "no", ...files];
  }
}

/** Resolves when a starting Redis or Sentinel has printed its ready line. */
export async function toldBy(child: ChildProcessByStdio<null, Readable, null>, words: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once("error", reject);
  child.once("exit", (code) => reject(new Error(`redis-server ended with ${code}`)));
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.includes(words)) resolve();
  });
  await withDeadline(promise, PATIENCE_MS, "the start of redis-server");
}
