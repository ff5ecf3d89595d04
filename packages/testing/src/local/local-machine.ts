import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { authEndpoints } from "../../../../src/protocol/endpoints/auth.ts";
import type { Health } from "../../../../src/protocol/schemas/health.ts";
import { hostHealth } from "../../../../src/remote/host-process.ts";
import type { Credentials } from "../access.ts";
import { LogTail, SHOWN_LINES } from "../failures/log-tail.ts";
import type { Machine } from "../machine.ts";
import { ServerClient } from "../server-client.ts";
import type { Login } from "../server-environment.ts";
import { eventually, type WaitOptions } from "../wait.ts";

const MAX_LOG_BYTES = 1024 * 1024;

export type LocalServer = { readonly name: string; readonly url: string; readonly controlDir: string };

/** A server of `ttyhq up` with its session host. Its network cannot be cut; stopping its server has the same effect. */
export class LocalMachine implements Machine, AsyncDisposable {
  readonly name: string;
  readonly url: string;
  readonly #controlDir: string;
  readonly #login: Login;
  readonly #isHq: boolean;
  readonly #probe: ServerClient;
  /** Processes that are stopped. */
  readonly #stopped = new Set<number>();

  /** The login is the same for all servers of a cluster; an HQ requires it with every request. */
  constructor({ name, url, controlDir }: LocalServer, login: Login, { isHq }: { readonly isHq: boolean }) {
    this.name = name;
    this.url = url;
    this.#controlDir = controlDir;
    this.#login = login;
    this.#isHq = isHq;
    this.#probe = new ServerClient({ url });
  }

  get log(): string {
    return fileEnd(join(this.#controlDir, "server.log"));
  }

  get scene(): string {
    const tail = new LogTail();
    tail.append(this.log);
    return tail.last(SHOWN_LINES, this.name);
  }

  health(): Promise<Health> {
    return this.#probe.api.health();
  }

  async client(credentials?: Credentials): Promise<ServerClient> {
    const access = { url: this.url, credentials: credentials ?? (await this.#credentials()) };
    return new ServerClient(access, { scene: () => this.scene });
  }

  async pause(): Promise<void> {
    const host = await hostHealth(join(this.#controlDir, "host.sock"));
    this.#stop((await this.health()).pid);
    if (host !== undefined) this.#stop(host.pid);
  }

  async unpause(): Promise<void> {
    for (const pid of this.#stopped) signal(pid, "SIGCONT");
    this.#stopped.clear();
  }

  async disconnect(): Promise<void> {
    this.#stop((await this.health()).pid);
  }

  async reconnect(): Promise<void> {
    await this.unpause();
  }

  async killServer(): Promise<void> {
    signal((await this.health()).pid, "SIGKILL");
  }

  async ready(options: WaitOptions = {}): Promise<void> {
    await eventually(
      () => this.health(),
      `an answer of ${this.name}`,
      options,
      () => this.scene,
    );
  }

  /** Resumes its processes, so that `ttyhq up` can end them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.unpause();
    this.#probe[Symbol.dispose]();
  }

  #stop(pid: number): void {
    signal(pid, "SIGSTOP");
    this.#stopped.add(pid);
  }

  async #credentials(): Promise<Credentials> {
    if (this.#isHq) return this.#login;
    return { token: (await this.#probe.api.call(authEndpoints.createToken, { body: this.#login })).token };
  }
}

/** A process may have ended meanwhile. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Empty for a missing file. */
function fileEnd(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      const { size } = fstatSync(file);
      const bytes = Buffer.alloc(Math.min(size, MAX_LOG_BYTES));
      const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
      return bytes.toString("utf8", 0, read);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}
