import { randomBytes } from "node:crypto";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { DEFAULT_PORT, MIN_JOIN_TOKEN_BYTES } from "../../../src/protocol/limits.ts";
import { ServiceContainer, type TlsFiles } from "./container.ts";
import { createNetwork, removeLeftovers, removeNetwork } from "./engine.ts";
import { testSeed } from "./environment.ts";
import { TerminalLog } from "./failures/terminal-log.ts";
import type { TestCluster } from "./machine.ts";
import { ServerClient } from "./server-client.ts";
import type { Login, Variables } from "./server-environment.ts";
import type { StartedService } from "./started.ts";
import { eventually, type WaitOptions } from "./wait.ts";

export type ClusterOptions = {
  /** Their number, with the names remote-1, remote-2, …; or their names. Default: two. */
  readonly remotes?: number | readonly string[];
  readonly image?: string;
  /** More arguments of `serve`. */
  readonly hqArgs?: readonly string[];
  readonly remoteArgs?: readonly string[];
  /** For all servers. */
  readonly environment?: Variables;
  /** The HQ's; default: generated. */
  readonly login?: Login;
  /** HTTPS everywhere; for the names `hq`, those of the remotes, and localhost. */
  readonly tls?: TlsFiles;
};

type Parts = Pick<Cluster, "hq" | "remotes" | "login" | "joinToken" | "network">;

const REGISTRATION_TIMEOUT_MS = 30_000;

/**
 * An HQ and its remotes, each in a container, in a network of their own. Any number of clusters can run in parallel.
 * Disposal removes all parts, including volumes.
 */
export class Cluster implements TestCluster {
  readonly hq: StartedService;
  /** In the order of their names. */
  readonly remotes: readonly StartedService[];
  readonly login: Login;
  /** The token with which its remotes join, and any other remote that gets it. */
  readonly joinToken: string;
  /** The name of their network. */
  readonly network: string;
  /** For random choices of a test: TTYHQ_TEST_SEED, or drawn. */
  readonly seed = testSeed();
  /** The screens and frames of its clients' terminals. */
  readonly terminals = new TerminalLog();
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: Parts, owned: AsyncDisposableStack) {
    this.hq = parts.hq;
    this.remotes = parts.remotes;
    this.login = parts.login;
    this.joinToken = parts.joinToken;
    this.network = parts.network;
    this.#owned = owned;
  }

  /** Resolves when all remotes are registered. Rejects with the ends of their logs, after cleaning up. */
  static async start(options: ClusterOptions & WaitOptions = {}): Promise<Cluster> {
    await removeLeftovers();
    const login = options.login ?? { username: "hq", password: randomBytes(12).toString("hex") };
    const joinToken = randomBytes(MIN_JOIN_TOKEN_BYTES).toString("hex");
    await using stack = new AsyncDisposableStack();
    const network = await ownNetwork(stack);
    const services: StartedService[] = [];
    stack.defer(() => all(services.map((service) => service[Symbol.asyncDispose]())));
    const start = async (container: ServiceContainer): Promise<StartedService> => {
      const service = await container.withNetwork(network).start(options);
      services.push(service);
      return service;
    };
    const [hq, remotes] = await started(start, { login, joinToken }, options);
    await registered([hq, ...remotes], options);
    return new Cluster({ hq, remotes, login, joinToken, network }, stack.move());
  }

  /** By its name. */
  remote(name: string): StartedService {
    const remote = this.remotes.find((each) => each.name === name);
    if (remote === undefined) throw new Error(`no remote is called ${name}`);
    return remote;
  }

  /** A client of the HQ. The message of a failed wait includes the ends of all logs. */
  async client(): Promise<ServerClient> {
    return new ServerClient(await this.hq.access(), { scene: () => this.scene, log: this.terminals });
  }

  /** Resolves when the HQ lists all remotes. */
  async registered(options: WaitOptions = {}): Promise<void> {
    await registered([this.hq, ...this.remotes], options);
  }

  /** The ends of all logs. */
  get scene(): string {
    return sceneOf([this.hq, ...this.remotes]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

async function ownNetwork(stack: AsyncDisposableStack): Promise<string> {
  const name = `ttyhq-${randomBytes(6).toString("hex")}`;
  await createNetwork(name);
  stack.defer(() => removeNetwork(name));
  return name;
}

function remoteNames(remotes: ClusterOptions["remotes"] = 2): readonly string[] {
  if (typeof remotes !== "number") return remotes;
  return Array.from({ length: remotes }, (_, index) => `remote-${index + 1}`);
}

/** All of them in parallel: a remote retries until its HQ answers. */
async function started(
  start: (container: ServiceContainer) => Promise<StartedService>,
  { login, joinToken }: Pick<Cluster, "login" | "joinToken">,
  options: ClusterOptions,
): Promise<readonly [hq: StartedService, remotes: readonly StartedService[]]> {
  const { hqArgs = [], remoteArgs = [], tls } = options;
  const hqUrl = `${tls === undefined ? "http" : "https"}://hq:${DEFAULT_PORT}`;
  const hq = start(
    clusterService("hq", options)
      .asHq(login, { joinToken })
      .withArgs(...hqArgs),
  );
  const remotes = remoteNames(options.remotes).map((name) =>
    start(
      clusterService(name, options)
        .asRemote({ ...login, hqUrl, joinToken })
        .withArgs(...remoteArgs),
    ),
  );
  await Promise.allSettled([hq, ...remotes]);
  return [await hq, await Promise.all(remotes)];
}

function clusterService(name: string, { image, environment = {}, tls }: ClusterOptions): ServiceContainer {
  const container = new ServiceContainer(image).withName(name).withEnvironment(environment);
  return tls === undefined ? container : container.withTls(tls);
}

/** Waits for all; then throws the first failure. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}

async function registered(services: readonly StartedService[], options: WaitOptions): Promise<void> {
  const [hq, ...remotes] = services;
  if (hq === undefined) return;
  using client = await hq.client();
  const check = async (): Promise<true | undefined> => {
    const known = new Set((await client.api.call(endpoints.listRemotes)).map(({ name }) => name));
    return remotes.every(({ name }) => known.has(name)) || undefined;
  };
  const limits = { timeoutMs: REGISTRATION_TIMEOUT_MS, ...options };
  await eventually(check, "the registration of all remotes", limits, () => sceneOf(services));
}

function sceneOf(services: readonly StartedService[]): string {
  return services
    .map(({ scene }) => scene)
    .filter((scene) => scene !== "")
    .join("\n");
}
