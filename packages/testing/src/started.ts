import { finished } from "node:stream/promises";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { authEndpoints } from "../../../src/protocol/endpoints/auth.ts";
import type { Health } from "../../../src/protocol/schemas/health.ts";
import type { Access, Credentials } from "./access.ts";
import { type Container, engine, type NetworkPlace, removeContainer } from "./engine.ts";
import { LogTail, SHOWN_LINES } from "./failures/log-tail.ts";
import type { Machine } from "./machine.ts";
import { ServerClient } from "./server-client.ts";
import { eventually, failure, type WaitOptions } from "./wait.ts";

/** For one operation of the engine. */
const ENGINE_TIMEOUT_MS = 60_000;
const READY_TIMEOUT_MS = 60_000;
/** The time for a server to end its sessions and itself. */
const STOP_GRACE_S = 15;

export type ServicePlace = {
  readonly name: string;
  /** From this machine. */
  readonly url: string;
  /** From the other containers of its network. */
  readonly internalUrl: string;
  readonly network: NetworkPlace | undefined;
  readonly credentials: Credentials | undefined;
  /** Whether the credentials are an HQ's, sent with every request, or a login. */
  readonly isBasic: boolean;
  readonly ca: Uint8Array | undefined;
};

export type Executed = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/** A server in a container. Disposal removes the container with its volumes. */
export class StartedService implements Machine, AsyncDisposable {
  readonly #container: Container;
  readonly #place: ServicePlace;
  readonly #log = new LogTail();
  /** The end of the log of a container that has ended. */
  #logged: Promise<void> = Promise.resolve();
  readonly #probe: ServerClient;

  private constructor(container: Container, place: ServicePlace) {
    this.#container = container;
    this.#place = place;
    this.#probe = new ServerClient({ url: place.url, ca: place.ca });
  }

  /** Takes over a just started container; resolves when its server answers. Otherwise removes it. */
  static async take(
    container: Container,
    place: ServicePlace,
    options: WaitOptions,
  ): Promise<StartedService> {
    const service = new StartedService(container, place);
    try {
      await service.#followLog(0);
      await service.ready(options);
      return service;
    } catch (error) {
      await service[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The name of the machine at its HQ and the other containers. */
  get name(): string {
    return this.#place.name;
  }

  /** Its origin on this machine; the same after a restart. */
  get url(): string {
    return this.#place.url;
  }

  /** Its origin in the containers' network. */
  get internalUrl(): string {
    return this.#place.internalUrl;
  }

  get containerId(): string {
    return this.#container.id;
  }

  /** The last megabyte of its standard output and error. */
  get log(): string {
    return this.#log.text;
  }

  /** The end of the log, for the message of a failure. */
  get scene(): string {
    return this.#log.last(SHOWN_LINES, this.name);
  }

  /** Without a login. */
  health(): Promise<Health> {
    return this.#probe.api.health();
  }

  /** A logged-in client, or one with other credentials. */
  async client(credentials?: Credentials): Promise<ServerClient> {
    return new ServerClient(await this.access(credentials), { scene: () => this.scene });
  }

  /** The credentials and address for a client. */
  async access(credentials?: Credentials): Promise<Access> {
    return { url: this.url, ca: this.#place.ca, credentials: credentials ?? (await this.#login()) };
  }

  /** Runs a program beside the server, to its end. */
  async exec(command: readonly string[]): Promise<Executed> {
    const { container } = await engine();
    const work = container.exec(this.#container, [...command]);
    const { exitCode, stdout, stderr } = await withDeadline(work, ENGINE_TIMEOUT_MS, command.join(" "));
    return { exitCode, stdout, stderr };
  }

  /** Suspends all its processes; the network keeps accepting data for it. */
  async pause(): Promise<void> {
    // On a busy machine the engine may give up on a process that does not stop at once.
    const check = async (): Promise<true | undefined> => {
      if (!(await this.#state()).Paused) await this.#container.pause();
      return true;
    };
    await eventually(check, `the pause of ${this.name}`, { timeoutMs: ENGINE_TIMEOUT_MS });
  }

  async unpause(): Promise<void> {
    await this.#asked("unpause", this.#container.unpause());
  }

  /** Removes it from its network: packets vanish without notice. This machine still reaches it. */
  async disconnect(): Promise<void> {
    const { network } = await engine();
    const { name } = this.#network;
    await this.#asked("disconnect", network.getById(name).disconnect({ Container: this.#container.id }));
  }

  async reconnect(): Promise<void> {
    const { container, network } = await engine();
    const { name, aliases } = this.#network;
    const place = network.getById(name);
    await this.#asked("reconnect", container.connectToNetwork(this.#container, place, [...aliases]));
  }

  /** Kills only the server's process: its sessions run in another, and the image restarts it. */
  async killServer(signal = "SIGKILL"): Promise<void> {
    const { pid } = await this.health();
    const { exitCode, stderr } = await this.exec(["sh", "-c", `kill -${signal.replace(/^SIG/, "")} ${pid}`]);
    if (exitCode !== 0) throw new Error(`the server of ${this.name} was not killed: ${stderr}`);
  }

  /** Kills the whole machine, like a loss of power; `start` restores it with the content of its volumes. */
  async kill(): Promise<void> {
    await this.#asked("kill", this.#container.kill());
  }

  /** An orderly shutdown: the server ends its sessions and leaves its HQ. */
  async stop(): Promise<void> {
    await this.#asked("stop", this.#container.stop({ t: STOP_GRACE_S }));
  }

  /** Resolves when the server answers. */
  async start(options: WaitOptions = {}): Promise<void> {
    await this.#asked("start", this.#container.start());
    await this.#followLog(Date.parse((await this.#state()).StartedAt) / 1000);
    await this.ready(options);
  }

  async restart(options: WaitOptions = {}): Promise<void> {
    await this.stop();
    await this.start(options);
  }

  /** Resolves when the server answers; rejects with the end of its log, at once if the container has ended. */
  async ready(options: WaitOptions = {}): Promise<void> {
    const check = async (): Promise<"answers" | "ended"> => {
      try {
        await this.health();
        return "answers";
      } catch (error) {
        if ((await this.#state()).Running) throw error;
        return "ended";
      }
    };
    const limits = { timeoutMs: READY_TIMEOUT_MS, ...options };
    const found = await eventually(check, `an answer of ${this.name}`, limits, () => this.scene);
    if (found === "answers") return;
    await this.#asked("read the log of", this.#logged);
    throw new Error(failure(`${this.name} ended before it answered`, this.scene));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#probe[Symbol.dispose]();
    await this.#asked("remove", removeContainer(this.#container.id));
  }

  get #network(): NetworkPlace {
    if (this.#place.network === undefined) throw new Error(`${this.name} is in no network`);
    return this.#place.network;
  }

  async #state(): Promise<Readonly<Record<"Running" | "Paused", boolean>> & { readonly StartedAt: string }> {
    return (await this.#container.inspect()).State;
  }

  /** Until the container stops. `since`: seconds since the epoch, by the engine's clock. */
  async #followLog(since: number): Promise<void> {
    const { container } = await engine();
    const stream = await container.logs(this.#container, { since });
    stream.on("data", (text: string) => this.#log.append(text));
    this.#logged = finished(stream).catch(() => undefined);
  }

  async #login(): Promise<Credentials | undefined> {
    const { credentials, isBasic } = this.#place;
    if (credentials === undefined || "token" in credentials || isBasic) return credentials;
    return { token: (await this.#probe.api.call(authEndpoints.createToken, { body: credentials })).token };
  }

  async #asked(what: string, work: Promise<unknown>): Promise<void> {
    await withDeadline(work, ENGINE_TIMEOUT_MS, `${what} ${this.name}`);
  }
}
