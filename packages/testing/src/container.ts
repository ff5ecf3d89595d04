import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { DEFAULT_PORT } from "../../../src/protocol/limits.ts";
import { type ContainerPlan, startContainer } from "./engine.ts";
import { imageName } from "./environment.ts";
import { freePort } from "./free-port.ts";
import { type Login, type ServerRole, serverEnvironment, type Variables } from "./server-environment.ts";
import { type ServicePlace, StartedService } from "./started.ts";
import type { WaitOptions } from "./wait.ts";

/**
 * PEM files of this machine that the image's user, 10001, can read: a server's certificate, and trusted authorities.
 */
export type TlsFiles = { readonly cert: string; readonly key: string; readonly ca: string };

/** Another process may take a port while a container is being created. */
const TRIES = 3;
const TLS = { cert: "/run/ttyhq/cert.pem", key: "/run/ttyhq/key.pem", ca: "/run/ttyhq/ca.pem" };

/**
 * A server in a container, before its start: read-only root, no rate limits, a fixed port on this machine. A server
 * without a role and a login needs `withArgs("--no-auth")`.
 */
export class ServiceContainer {
  readonly #image: string;
  #name = "ttyhq";
  #role: ServerRole = { kind: "standalone", login: undefined };
  #args: readonly string[] = [];
  #variables: Variables = {};
  #network: string | undefined;
  #tls: TlsFiles | undefined;

  /** Default: TTYHQ_IMAGE, or ttyhq:dev. */
  constructor(image = imageName()) {
    this.#image = image;
  }

  /** Its name at the HQ and in its network. */
  withName(name: string): this {
    this.#name = name;
    return this;
  }

  /** The login is for people, and for remotes without a join token; with `joinToken` remotes of any name join. */
  asHq(login: Login, { joinToken }: { readonly joinToken?: string | undefined } = {}): this {
    this.#role = { kind: "hq", login, joinToken };
    return this;
  }

  /**
   * The login admits people to the remote itself. The remote joins the HQ with the token, or without one with the
   * login.
   */
  asRemote({
    hqUrl,
    joinToken,
    username,
    password,
  }: Login & { readonly hqUrl: string; readonly joinToken?: string | undefined }): this {
    this.#role = { kind: "remote", hqUrl, joinToken, login: { username, password } };
    return this;
  }

  /** A standalone server with a login. */
  asStandalone(login: Login): this {
    this.#role = { kind: "standalone", login };
    return this;
  }

  /** More arguments of `serve`. */
  withArgs(...args: readonly string[]): this {
    this.#args = [...this.#args, ...args];
    return this;
  }

  withEnvironment(variables: Variables): this {
    this.#variables = { ...this.#variables, ...variables };
    return this;
  }

  /** HTTPS. The certificate is for the server's name, and for localhost. */
  withTls(files: TlsFiles): this {
    this.#tls = files;
    return this;
  }

  /** By its name, such as that of a cluster. */
  withNetwork(network: string): this {
    this.#network = network;
    return this;
  }

  /** Resolves when the server answers. Rejects with the end of its log, after cleaning up. */
  async start(options: WaitOptions = {}): Promise<StartedService> {
    const ca = this.#tls && new Uint8Array(await readFile(this.#tls.ca));
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      try {
        const container = await startContainer(this.#plan(port));
        return await StartedService.take(container, this.#place(port, ca), options);
      } catch (error) {
        if (attempt === TRIES || !isPortTaken(error)) throw error;
      }
    }
  }

  get #internalUrl(): string {
    return `${this.#scheme}://${this.#name}:${DEFAULT_PORT}`;
  }

  get #scheme(): string {
    return this.#tls === undefined ? "http" : "https";
  }

  #plan(port: number): ContainerPlan {
    const context = { name: this.#name, url: this.#internalUrl, tls: this.#tls && TLS };
    return {
      image: this.#image,
      name: `${this.#name}-${randomBytes(4).toString("hex")}`,
      command: ["serve", ...this.#args],
      environment: { ...serverEnvironment(this.#role, context), ...this.#variables },
      port: { container: DEFAULT_PORT, host: port },
      network: this.#network === undefined ? undefined : { name: this.#network, aliases: [this.#name] },
      mounts: this.#mounts,
    };
  }

  get #mounts(): ContainerPlan["mounts"] {
    const files = this.#tls;
    if (files === undefined) return [];
    const names = ["cert", "key", "ca"] as const;
    return names.map((name) => ({ source: files[name], target: TLS[name] }));
  }

  #place(port: number, ca: Uint8Array | undefined): ServicePlace {
    return {
      name: this.#name,
      url: `${this.#scheme}://localhost:${port}`,
      internalUrl: this.#internalUrl,
      network: this.#network === undefined ? undefined : { name: this.#network, aliases: [this.#name] },
      credentials: this.#role.login,
      isBasic: this.#role.kind === "hq",
      ca,
    };
  }
}

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && /port is already allocated|address already in use/.test(error.message);
}
