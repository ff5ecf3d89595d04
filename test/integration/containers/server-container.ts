import { randomUUID } from "node:crypto";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { type Answer, ask } from "../harness/http.ts";
import { IMAGE } from "./built-image.ts";
import { docker } from "./docker.ts";

/** As restricted as the image allows: only /data and /tmp are writable, no capabilities, no way to gain any. */
const LOCKED_UP = [
  ...["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
  ...["--user", "10001"],
];

/** A container of the image. Disposal removes it with its volume, unless the volume was given. */
export class ServerContainer implements AsyncDisposable {
  readonly name: string;
  readonly url: string;

  private constructor(name: string, url: string) {
    this.name = name;
    this.url = url;
  }

  /** Resolves when the server answers. */
  static async start(
    options: { readonly volume?: string; readonly docker?: readonly string[] } = {},
  ): Promise<ServerContainer> {
    const name = `ttyhq-test-${randomUUID()}`;
    const volume = options.volume === undefined ? [] : ["--volume", `${options.volume}:/data`];
    await docker(
      ...["run", "--detach", "--name", name, "--publish", "127.0.0.1::4020", ...LOCKED_UP, ...volume],
      ...[...(options.docker ?? []), IMAGE, "serve", "--no-auth", "--rate-limit-api", "0"],
    );
    const container = new ServerContainer(name, `http://${await docker("port", name, "4020/tcp")}`);
    try {
      await container.answers();
    } catch (error) {
      await container[Symbol.asyncDispose]();
      throw error;
    }
    return container;
  }

  async answers(): Promise<void> {
    const healthy = async (): Promise<true | undefined> => {
      const answer = await ask(this.url, "/api/health").catch(() => undefined);
      return answer?.status === 200 ? true : undefined;
    };
    await eventually(healthy, `the server in ${this.name}`);
  }

  send(method: string, path: string, body?: unknown): Promise<Answer> {
    return ask(this.url, path, { method, body });
  }

  async create(body: object): Promise<SessionRecord> {
    return SessionRecord.parse((await this.send("POST", "/api/sessions", body)).json);
  }

  /** Resolves when the screen of the session has the text. */
  async shows(id: string, expected: string): Promise<void> {
    const found = async (): Promise<true | undefined> => {
      const { text } = await this.send("GET", `/api/sessions/${id}/text`);
      return text.includes(expected) ? true : undefined;
    };
    await eventually(found, `${JSON.stringify(expected)} on the screen of ${id}`);
  }

  /** Runs a shell command beside the server. */
  sh(script: string): Promise<string> {
    return docker("exec", this.name, "sh", "-c", script);
  }

  /** A field of `docker inspect`, by a Go template. */
  inspect(template: string): Promise<string> {
    return docker("inspect", "--format", template, this.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await docker("rm", "--force", "--volumes", this.name);
  }
}
