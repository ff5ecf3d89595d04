// A real server, with its session host, on a free port of loopback and a control directory of its own.
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../packages/testing/src/free-port.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { type Client, createClient } from "../../../src/protocol/client/client.ts";
import { SessionSocket } from "../../../src/protocol/client/session-socket.ts";
import { hostHealth } from "../../../src/remote/host-process.ts";
import { createSender } from "../../../src/remote/send.ts";
import { openLink, type UplinkTarget } from "../../../src/remote/uplink.ts";
import { isRunning } from "../../../src/sessions/pty/process-tree.ts";
import { PATIENCE_MS } from "./patience.ts";
import { killIfThere } from "./processes.ts";
import { callServer, type Exit, type ServerProgram, spawnServer } from "./server-program.ts";

/** Tests run the shipped, built program. */
export const MAIN = fileURLToPath(new URL("../../../dist/main.js", import.meta.url));

export type TestServerOptions = {
  /** In addition to --port, --bind, --control-dir and --json. Default: no login, no limits. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The parent of its control directory; by default the folder of temporary files. */
  readonly directory?: string;
  /** The program to run; by default this version's. */
  readonly main?: string;
  /** For tests that kill it, or are about its process. Otherwise it runs in the test's own. */
  readonly asProcess?: boolean;
  /** An existing control directory: of several servers, the first disposed one ends the host. */
  readonly controlDir?: string;
};

type Listening = { readonly url: string; readonly loginLink?: string; readonly behind?: string };

/** No limits of calls and new sessions. */
export const NO_LIMITS: readonly string[] = ["--rate-limit-api", "0", "--rate-limit-sessions", "0"];
/** Nor a login. */
export const OPEN: readonly string[] = ["--no-auth", ...NO_LIMITS];

export class TestServer implements AsyncDisposable {
  readonly controlDir: string;
  readonly #options: TestServerOptions;
  #main: string;
  #program: ServerProgram | undefined;
  #listening: Listening;
  #log = "";

  private constructor(controlDir: string, options: TestServerOptions) {
    this.controlDir = controlDir;
    this.#options = options;
    this.#main = options.main ?? MAIN;
    this.#listening = { url: "http://127.0.0.1:0" };
  }

  static async start(options: TestServerOptions = {}): Promise<TestServer> {
    const { directory = tmpdir(), controlDir = await mkdtemp(join(directory, "ttyhq-")) } = options;
    const server = new TestServer(controlDir, options);
    for (;;) {
      // Not a port that the system chose: it gives those to outgoing connections, too, while a server restarts.
      const port = await freePort();
      try {
        await server.#spawn(port);
        return server;
      } catch (error) {
        if (String(error).includes(`port ${port} of 127.0.0.1 is taken`)) continue;
        await server[Symbol.asyncDispose]();
        throw error;
      }
    }
  }

  get url(): string {
    return this.#listening.url;
  }

  /** The server's own address, if `url` is that of its reverse proxy. */
  get behind(): string {
    return this.#listening.behind ?? this.url;
  }

  get loginLink(): string {
    return this.#listening.loginLink ?? "";
  }

  /** Throws if it does not run: 0 would be the group of the test run. */
  get pid(): number {
    const pid = this.#program?.pid;
    if (pid === undefined) throw new Error("the server does not run as a process: start it with asProcess");
    return pid;
  }

  /** The standard error of all server processes so far. */
  get log(): string {
    return this.#log;
  }

  get hostSocket(): string {
    return join(this.controlDir, "host.sock");
  }

  /** Over TCP, by default without a token. */
  client(token?: string): Client {
    return createClient(createSender(this.#target(token)).send);
  }

  /** A resuming connection to /ws. The caller disposes it. */
  connect(token?: string): SessionSocket {
    const target = this.#target(token);
    return new SessionSocket({
      open: (handlers, signal) => openLink(target, handlers, signal),
      clientName: "test",
      version: "0",
    });
  }

  /** The pid of the session host. Throws if none answers: 0 would be the group of the test run. */
  async hostPid(): Promise<number> {
    const host = await hostHealth(this.hostSocket);
    if (host === undefined) throw new Error(`no session host answers at ${this.hostSocket}`);
    return host.pid;
  }

  async hostLog(): Promise<string> {
    return readFile(join(this.controlDir, "host.log"), "utf8");
  }

  /** Sends a signal to the server's process, without waiting. */
  signal(signal: NodeJS.Signals): void {
    this.#program?.signal(signal);
  }

  /** Until disposed: connections stay and nothing answers, like a dead network. */
  freeze(): Disposable {
    this.signal("SIGSTOP");
    return { [Symbol.dispose]: () => this.signal("SIGCONT") };
  }

  /** Resolves when the server processes have written that to standard error: log lines may follow an answer. */
  async logged(words: string): Promise<void> {
    await eventually(async () => this.log.includes(words) || undefined, `"${words}" in the log`);
  }

  /**
   * Ends the server's process, and returns how it ended, once all of its log has arrived; the session host keeps
   * running.
   */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<Exit | undefined> {
    const program = this.#program;
    program?.signal(signal);
    this.#program = undefined;
    return await (program && withDeadline(program.closed, PATIENCE_MS, "the end of the server"));
  }

  /** Restarts the server on the same port and control directory. */
  async restart(): Promise<void> {
    await this.kill();
    await this.#spawn(Number(new URL(this.url).port));
  }

  /** Replaces the running version by this one, like `restart`. */
  async upgrade(): Promise<void> {
    await this.kill("SIGTERM");
    this.#main = MAIN;
    await this.restart();
  }

  /** Ends the session host, and resolves when it is gone. Throws if none answers. */
  async killHost(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const pid = await this.hostPid();
    killIfThere(pid, signal);
    await gone(pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A stopped (SIGSTOP) host would not notice the end.
    this.signal("SIGCONT");
    await this.kill("SIGTERM");
    const host = await hostHealth(this.hostSocket);
    if (host !== undefined) {
      killIfThere(host.pid, "SIGTERM");
      await gone(host.pid);
    }
    // It is the home of shells, which write their history when they end.
    await rm(this.controlDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  async #spawn(port: number): Promise<void> {
    const { args = OPEN, env, main, asProcess = main !== undefined } = this.#options;
    const places = ["--bind", "127.0.0.1", "--port", `${port}`, "--control-dir", this.controlDir];
    const words = [...places, "--json", ...args];
    // A separate home: start files of this machine's login shells are not under test.
    const variables = { ...process.env, HOME: this.controlDir, ...env };
    const program = await (asProcess ? spawnServer : callServer)(this.#main, words, variables);
    this.#program = program;
    program.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#log += text;
    });
    const lines = createInterface({ input: program.stdout });
    const failed = program.closed.then(({ code }) => {
      throw new Error(`the server ended with ${code}: ${this.#log}`);
    });
    failed.catch(() => undefined);
    const [line] = await withDeadline(
      Promise.race([once(lines, "line"), failed]),
      PATIENCE_MS,
      "the server's start",
    );
    this.#listening = JSON.parse(line);
  }

  #target(token: string | undefined): UplinkTarget {
    return { url: this.url, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } };
  }
}

/**
 * Resolves when that process has ended; throws after 60 s. It is no child of ours, so it is polled. Its parent may take
 * a second to notice: until then it has only a pid.
 */
export async function gone(pid: number): Promise<void> {
  await eventually(async () => !isRunning(pid) || undefined, `the end of process ${pid}`);
}
