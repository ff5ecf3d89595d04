// A real nginx on a loopback port, with its configuration in a temporary directory.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";

const run = promisify(execFile);

export type NginxOptions = {
  /** The target origin. */
  readonly to: string;
  /** The users and passwords that it accepts; without them: everybody. */
  readonly people?: Readonly<Record<string, string>>;
  /** Lines of its `location /`. */
  readonly location?: readonly string[];
};

/** A site's configuration that puts this server behind nginx's login. */
export const IDENTITY = [
  "proxy_set_header proxy-user-login $remote_user;",
  'proxy_set_header proxy-user-name "";',
  'proxy_set_header proxy-user-profile-pic "";',
  'proxy_set_header Authorization "";',
];

/** The lines of the configuration in docs/exposing.md, except for the address. */
async function forwarding(): Promise<readonly string[]> {
  const page = await readFile(new URL("../../../docs/exposing.md", import.meta.url), "utf8");
  const lines = page.split("\n").map((line) => line.trim());
  return lines.filter((line) => /^proxy_(?!pass)\w+ .*;$/.test(line));
}

export class Nginx implements AsyncDisposable {
  readonly url: string;
  readonly #directory: string;
  readonly #process: ChildProcess;

  private constructor(url: string, directory: string, child: ChildProcess) {
    this.url = url;
    this.#directory = directory;
    this.#process = child;
  }

  static async start(options: NginxOptions): Promise<Nginx> {
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-nginx-"));
    // Started by root, its workers run as another user, and must be able to read the passwords.
    await chmod(directory, 0o755);
    const port = await freePort();
    await writeFile(join(directory, "nginx.conf"), await configuration(options, directory, port));
    const path = ["/usr/sbin", process.env.PATH ?? ""].join(delimiter);
    const child = spawn("nginx", ["-e", "stderr", "-p", directory, "-c", join(directory, "nginx.conf")], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: path },
    });
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    const nginx = new Nginx(`http://127.0.0.1:${port}`, directory, child);
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${complaint}`);
      return (await answers(port)) ? true : undefined;
    }, "nginx");
    return nginx;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null) {
      this.#process.kill("SIGTERM");
      await once(this.#process, "exit");
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}

async function configuration(options: NginxOptions, directory: string, port: number): Promise<string> {
  const { to, people, location = [] } = options;
  const passwords = join(directory, "passwords");
  if (people !== undefined) {
    const lines = Object.entries(people).map(async ([name, password]) => {
      const { stdout } = await run("openssl", ["passwd", "-apr1", password]);
      return `${name}:${stdout}`;
    });
    await writeFile(passwords, (await Promise.all(lines)).join(""));
  }
  const login = people === undefined ? [] : ['auth_basic "people";', `auth_basic_user_file ${passwords};`];
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `
    daemon off;
    pid ${directory}/pid;
    events {}
    http {
      access_log off;
      ${kinds.map((kind) => `${kind}_temp_path ${directory}/${kind};`).join("\n")}
      map $http_upgrade $connection_upgrade { default upgrade; '' close; }
      server {
        listen 127.0.0.1:${port};
        ${login.join("\n")}
        location / {
          proxy_pass ${to};
          ${[...(await forwarding()), ...location].join("\n")}
        }
        location /untold/ { proxy_pass ${to}/; }
      }
    }`;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
