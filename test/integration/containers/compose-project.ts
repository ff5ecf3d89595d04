// The real compose.yaml, as a project with its own ports, secrets, volumes and network.
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  downAll,
  exec,
  type IDockerComposeOptions,
  type IDockerComposeResult,
  port,
  upAll,
  upMany,
} from "docker-compose";
import { z } from "zod";
import type { Access } from "../../../packages/testing/src/access.ts";
import { ServerClient } from "../../../packages/testing/src/server-client.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import type { Client } from "../../../src/protocol/client/client.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import type { RemoteRecord } from "../../../src/protocol/schemas/remote.ts";
import { IMAGE, ROOT } from "./built-image.ts";
import { output } from "./docker.ts";

const PORT = "4020";

const ComposeFile = z.object({
  services: z.record(
    z.string(),
    z.object({
      pids_limit: z.int(),
      mem_limit: z.string(),
      secrets: z.array(z.object({ source: z.string() })).default([]),
      volumes: z.array(z.object({ source: z.string(), target: z.string() })),
    }),
  ),
});
export type Services = z.infer<typeof ComposeFile>["services"];

/** Selects one of the two clusters in the file. */
export type Flavour = "plain" | "tls";

/** Disposal removes all of it, including recordings. */
export class ComposeProject implements AsyncDisposable {
  readonly #name = `ttyhq-test-${randomBytes(4).toString("hex")}`;
  readonly #secrets: string;
  readonly #flavour: Flavour;
  readonly #folders: string[] = [];
  #files: readonly string[] = [join(ROOT, "compose.yaml")];

  private constructor(secrets: string, flavour: Flavour) {
    this.#secrets = secrets;
    this.#flavour = flavour;
  }

  /** As the README says: init.sh, then `docker compose up --wait`. */
  static async start(flavour: Flavour): Promise<ComposeProject> {
    const project = new ComposeProject(await mkdtemp(join(tmpdir(), "ttyhq-secrets-")), flavour);
    try {
      await output(`${ROOT}docker/compose/init.sh`, [project.#name], { env: project.#env });
      await project.up();
      return project;
    } catch (error) {
      await project[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts stopped services, and replaces changed ones. */
  async up(...options: string[]): Promise<void> {
    // Naming a service with a profile starts it and its dependencies.
    const compose = this.#compose("--wait", ...options);
    const services = [this.remote(1), this.remote(2)];
    await succeeded(this.#flavour === "tls" ? upMany(services, compose) : upAll(compose));
  }

  /** Removes the containers and the network; volumes stay unless `--volumes` is among the options. */
  async down(...options: string[]): Promise<void> {
    await succeeded(downAll(this.#compose(...options)));
  }

  get hq(): string {
    return this.#flavour === "tls" ? "hq-tls" : "hq";
  }

  /** The service of a remote's server; that of its session host has the suffix `-host`. */
  remote(number: number): string {
    return this.#flavour === "tls" ? `remote-tls-${number}` : `remote-${number}`;
  }

  /** Like `docker/compose/remotes` for a project without a test. */
  async setRemotes(count: number): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), "ttyhq-compose-"));
    this.#folders.push(folder);
    await mkdir(join(folder, "docker/compose"), { recursive: true });
    for (const file of ["compose.yaml", "docker/compose/remotes"])
      await copyFile(join(ROOT, file), join(folder, file));
    await output("sh", [join(folder, "docker/compose/remotes"), String(count)]);
    const override = join(folder, "compose.override.yaml");
    this.#files = count > 2 ? [join(folder, "compose.yaml"), override] : [join(ROOT, "compose.yaml")];
  }

  /** A client of the HQ, logged in with init.sh's password. */
  async client(): Promise<Client> {
    return new ServerClient(await this.access()).api;
  }

  async access(): Promise<Access> {
    const { data } = await succeeded(port(this.hq, PORT, this.#compose()));
    const credentials = { username: "admin", password: await this.secret("hq-password") };
    const tls = this.#flavour === "tls" ? { ca: await readFile(join(this.#secrets, "ca.crt")) } : {};
    const scheme = this.#flavour === "tls" ? "https" : "http";
    return { url: `${scheme}://${data.address}:${data.port}`, credentials, ...tls };
  }

  /** The secret of that name. */
  async secret(name: string): Promise<string> {
    return (await readFile(join(this.#secrets, name), "utf8")).trim();
  }

  /** The output of a shell script in the container of a service. */
  async sh(service: string, script: string): Promise<string> {
    const { out } = await succeeded(exec(service, ["sh", "-c", script], this.#compose()));
    return out.trim();
  }

  /** Compose's interpretation of compose.yaml, with all profiles. */
  static async services(): Promise<Services> {
    const args = [
      "compose",
      "--file",
      join(ROOT, "compose.yaml"),
      "--profile",
      "tls",
      "config",
      "--format",
      "json",
    ];
    return ComposeFile.parse(JSON.parse(await output("docker", args))).services;
  }

  /** The remotes by name, once that many are registered. */
  async remotes(count: number): Promise<readonly RemoteRecord[]> {
    const client = await this.client();
    const all = async (): Promise<true | undefined> =>
      (await client.health().catch(() => undefined))?.remotes === count ? true : undefined;
    await eventually(all, `${count} remotes`);
    const records = await client.call(endpoints.listRemotes);
    return records.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #compose(...commandOptions: string[]): IDockerComposeOptions {
    return {
      env: { ...process.env, ...this.#env },
      composeOptions: [
        ["--project-name", this.#name],
        ...(this.#flavour === "tls" ? [["--profile", "tls"]] : []),
      ],
      commandOptions,
    };
  }

  get #env(): Readonly<Record<string, string>> {
    return {
      COMPOSE_FILE: this.#files.join(":"),
      TTYHQ_IMAGE: IMAGE,
      TTYHQ_SECRETS: this.#secrets,
      // Any free ones.
      TTYHQ_HTTP_PORT: "0",
      TTYHQ_HTTPS_PORT: "0",
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.down("--volumes", "--timeout=5");
    } finally {
      for (const folder of [this.#secrets, ...this.#folders])
        await rm(folder, { recursive: true, force: true });
    }
  }
}

/** docker-compose rejects with a plain object; a failed test shows the command's output. */
async function succeeded<Result extends IDockerComposeResult>(command: Promise<Result>): Promise<Result> {
  try {
    return await command;
  } catch (cause) {
    if (cause instanceof Error) throw cause;
    const { exitCode, out, err } = Object(cause);
    throw new Error(`docker compose: code ${exitCode}: ${err}\n${out}`, { cause });
  }
}
