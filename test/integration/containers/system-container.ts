import { randomUUID } from "node:crypto";
import { z } from "zod";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { type Answer, ask } from "../harness/http.ts";
import { NO_LIMITS } from "../harness/test-server.ts";
import { IMAGE } from "./built-image.ts";
import { docker, type Ran, run } from "./docker.ts";

/** The password of every user in these containers. */
export const PASSWORD = "pa55 wörd";

export type LoginAttempt = {
  readonly username: string;
  readonly password: string;
  /** The loopback address to use, because failures are counted per address. */
  readonly from: string;
};

const Logins = z.array(z.object({ status: z.int(), text: z.string(), ms: z.number() }));
export type LoginOutcome = z.infer<typeof Logins>[number];

/** Runs in the container: all attempts at once, each with the duration of its answer. */
const LOG_IN = `
const { request } = require("node:http");
const attempt = ({ from, ...body }) => new Promise((resolve, reject) => {
  const started = performance.now();
  const asked = request({ host: "127.0.0.1", port: 4020, path: "/api/auth/token", method: "POST", localAddress: from,
    headers: { "content-type": "application/json" }, agent: false });
  asked.on("error", reject).on("response", (answer) => {
    let text = "";
    answer.setEncoding("utf8").on("data", (more) => (text += more));
    answer.on("end", () => resolve({ status: answer.statusCode, text, ms: performance.now() - started }));
  });
  asked.end(JSON.stringify(body));
});
Promise.all(JSON.parse(process.argv[1]).map(attempt)).then((all) => console.log(JSON.stringify(all)));
`;

/** A shell script that creates users with a home, bash and PASSWORD. */
export function makeUsers(...names: readonly string[]): string {
  return names
    .map((name) => `useradd --create-home --shell /bin/bash ${name}; echo '${name}:${PASSWORD}' | chpasswd`)
    .join("\n");
}

export type SystemOptions = {
  /** A shell script that root runs before the server starts. */
  readonly prepare?: string;
  /** Starts the server instead of the image's own entrypoint. */
  readonly command?: string;
  /** For `serve`. */
  readonly args?: readonly string[];
  /** For `docker run`. */
  readonly docker?: readonly string[];
  readonly image?: string;
};

/** The image with system users, and a server that runs as root. Disposal removes it. */
export class SystemContainer implements AsyncDisposable {
  readonly name: string;
  /** Its address on this machine. */
  readonly url: string;

  private constructor(name: string, url: string) {
    this.name = name;
    this.url = url;
  }

  /** Resolves when the server answers. */
  static async start(options: SystemOptions = {}): Promise<SystemContainer> {
    const name = `ttyhq-test-${randomUUID()}`;
    await docker("run", "--detach", "--name", name, "--publish", "127.0.0.1::4020", ...started(options));
    const container = new SystemContainer(name, `http://${await docker("port", name, "4020/tcp")}`);
    try {
      await container.answers();
      return container;
    } catch (error) {
      const { stderr } = await container.logs();
      await container[Symbol.asyncDispose]();
      throw new Error(`no server: ${stderr}`, { cause: error });
    }
  }

  /** The output and exit code of a server that cannot start. */
  static refused(options: SystemOptions): Promise<Ran> {
    return run("docker", ["run", "--rm", ...started(options)]);
  }

  async answers(): Promise<void> {
    const healthy = async (): Promise<true | undefined> => {
      const answer = await ask(this.url, "/api/health").catch(() => undefined);
      return answer?.status === 200 ? true : undefined;
    };
    await eventually(healthy, `the server in ${this.name}`);
  }

  /** Runs a script as root beside the server. */
  sh(script: string): Promise<string> {
    return docker("exec", "--user", "0", this.name, "sh", "-c", script);
  }

  /** Resolves when that many processes of that command line run. */
  async hasProcesses(count: number, line: string): Promise<void> {
    const found = async (): Promise<true | undefined> =>
      (await this.sh(`pgrep --count --exact --full '${line}' || true`)) === String(count) ? true : undefined;
    await eventually(found, `${count} times ${line}`);
  }

  async logIn(attempts: readonly LoginAttempt[]): Promise<readonly LoginOutcome[]> {
    return Logins.parse(
      JSON.parse(await docker("exec", this.name, "node", "--eval", LOG_IN, JSON.stringify(attempts))),
    );
  }

  /** The headers of a logged-in user. */
  async as(username: string): Promise<SystemUser> {
    const answer = await ask(this.url, "/api/auth/token", { body: { username, password: PASSWORD } });
    if (answer.status !== 200) throw new Error(`${username} cannot log in: ${answer.text}`);
    const { token } = z.object({ token: z.string() }).parse(answer.json);
    return new SystemUser(this.url, token);
  }

  get(path: string): Promise<Answer> {
    return ask(this.url, path);
  }

  logs(): Promise<Ran> {
    return run("docker", ["logs", this.name]);
  }

  /** Resolves when standard error has these words: the engine may have a line after the answer that follows it. */
  async logged(words: string): Promise<void> {
    const has = async (): Promise<true | undefined> =>
      (await this.logs()).stderr.includes(words) ? true : undefined;
    await eventually(has, `"${words}" in the log`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await docker("rm", "--force", "--volumes", this.name);
  }
}

export class SystemUser {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  send(method: string, path: string, body?: unknown): Promise<Answer> {
    return ask(this.#url, path, { method, body, headers: { authorization: `Bearer ${this.#token}` } });
  }

  async create(body: object): Promise<SessionRecord> {
    const answer = await this.send("POST", "/api/sessions", body);
    if (answer.status !== 201) throw new Error(`no session: ${answer.text}`);
    return SessionRecord.parse(answer.json);
  }

  async record(id: string): Promise<SessionRecord> {
    return SessionRecord.parse((await this.send("GET", `/api/sessions/${id}`)).json);
  }

  /** The record of a session whose program has ended; meanwhile its host may be unreachable. */
  ended(id: string): Promise<SessionRecord> {
    const over = async (): Promise<SessionRecord | undefined> => {
      const record = SessionRecord.safeParse((await this.send("GET", `/api/sessions/${id}`)).json);
      return record.data?.status === "exited" ? record.data : undefined;
    };
    return eventually(over, `the end of ${id}`);
  }

  /** The whole output of a program. */
  async output(body: object): Promise<string> {
    const { id } = await this.create({ rows: 200, cols: 200, ...body });
    await this.ended(id);
    return (await this.send("GET", `/api/sessions/${id}/text`)).text.trimEnd();
  }

  /** Resolves when the screen of the session has the text. */
  async shows(id: string, expected: string): Promise<void> {
    const found = async (): Promise<true | undefined> => {
      const { text } = await this.send("GET", `/api/sessions/${id}/text`);
      return text.includes(expected) ? true : undefined;
    };
    await eventually(found, `${JSON.stringify(expected)} on the screen of ${id}`);
  }
}

function started({ prepare = ":", command, args = [], docker = [], image = IMAGE }: SystemOptions): string[] {
  const server = command ?? "/usr/local/lib/ttyhq/entrypoint serve";
  const script = `${prepare}\nexec ${server} "$@"`;
  return [
    ...docker,
    "--user",
    "0",
    "--entrypoint",
    "tini",
    image,
    "-s",
    "--",
    "sh",
    "-c",
    script,
    "sh",
    ...NO_LIMITS,
    ...args,
  ];
}
