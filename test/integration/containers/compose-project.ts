// The real compose.yaml, as a project of its own: its ports, secrets, volumes and network are nobody else's.
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "../../../src/protocol/client.ts";
import { endpoints } from "../../../src/protocol/endpoints.ts";
import type { RemoteRecord } from "../../../src/protocol/remote.ts";
import { createSender } from "../../../src/remote/send.ts";
import { eventually } from "../harness/eventually.ts";
import { IMAGE, ROOT } from "./built-image.ts";
import { output } from "./docker.ts";

const PORT = "4020";

/** Which of the two clusters in the file. */
export type Flavour = "plain" | "tls";

/** Disposing it removes all of it, recordings included. */
export class ComposeProject implements AsyncDisposable {
  readonly #name = `ttyhq-test-${randomBytes(4).toString("hex")}`;
  readonly #secrets: string;
  readonly #flavour: Flavour;

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

  /** Starts what is not running, and replaces what has changed. */
  async up(...options: string[]): Promise<void> {
    // A service with a profile starts when it is named, with what it depends on.
    const services = this.#flavour === "tls" ? [this.remote] : [];
    await this.compose("up", "--wait", ...options, ...services);
  }

  compose(...args: string[]): Promise<string> {
    const profile = this.#flavour === "tls" ? ["--profile", "tls"] : [];
    return output("docker", ["compose", "--project-name", this.#name, ...profile, ...args], {
      env: this.#env,
    });
  }

  get hq(): string {
    return this.#flavour === "tls" ? "hq-tls" : "hq";
  }

  get remote(): string {
    return this.#flavour === "tls" ? "remote-tls" : "remote";
  }

  /** A client of the HQ, logged in with the password that init.sh made. */
  async client(): Promise<Client> {
    const address = await this.compose("port", this.hq, PORT);
    const password = (await readFile(join(this.#secrets, "hq-password"), "utf8")).trim();
    const proof = Buffer.from(`admin:${password}`).toString("base64");
    const tls = this.#flavour === "tls" ? { ca: await readFile(join(this.#secrets, "ca.crt")) } : {};
    const url = `${this.#flavour === "tls" ? "https" : "http"}://${address}`;
    return createClient(createSender({ url, headers: { authorization: `Basic ${proof}` }, ...tls }).send);
  }

  /** The remotes by name, once there are so many. */
  async remotes(count: number): Promise<readonly RemoteRecord[]> {
    const client = await this.client();
    const all = async (): Promise<true | undefined> =>
      (await client.health().catch(() => undefined))?.remotes === count ? true : undefined;
    await eventually(all, `${count} remotes`);
    const records = await client.call(endpoints.listRemotes);
    return records.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  get #env(): Readonly<Record<string, string>> {
    return {
      COMPOSE_FILE: join(ROOT, "compose.yaml"),
      TTYHQ_IMAGE: IMAGE,
      TTYHQ_SECRETS: this.#secrets,
      // Any free ones.
      TTYHQ_HTTP_PORT: "0",
      TTYHQ_HTTPS_PORT: "0",
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.compose("down", "--volumes", "--timeout", "5");
    } finally {
      await rm(this.#secrets, { recursive: true, force: true });
    }
  }
}
