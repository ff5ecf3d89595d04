// An HQ and its remotes as plain processes, on ports of loopback that the system chose.

import { env as testEnv } from "node:process";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { DIALLED_URL, type RemoteRecord } from "../../../src/protocol/schemas/remote.ts";
import type { CreateSessionBody, SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { type Answer, ask, type Question } from "./http.ts";
import { Scrape } from "./scrape.ts";
import { ServerEvents } from "./server-events.ts";
import { NO_LIMITS, TestServer, type TestServerOptions } from "./test-server.ts";

/** The credentials of a remote, and a client, at an HQ with logins. */
export const CREDENTIALS = { username: "fleet", password: "seven seas" } as const;

/** The login of a remote: only its HQ is admitted. */
const REMOTE_LOGIN = { SERVICE_USERNAME: "keeper", SERVICE_PASSWORD: "of the lighthouse" } as const;
/** TTYHQ_TEST_DIAL=1: the remotes of all fleets dial their HQ, unless a test chooses how they are reached. */
const DIALS = testEnv.TTYHQ_TEST_DIAL === "1";
/** The same for a remote that a test starts itself, and its address in the HQ's list. */
export const DIALLING: readonly string[] = DIALS ? ["--hq-dial"] : [];
export const addressOf = ({ url }: TestServer): string => (DIALS ? DIALLED_URL : url);

export type TestFleetOptions = {
  /** The initial number of remotes; they are called worker-1, worker-2, … */
  readonly remotes?: number;
  /** Whether the HQ requires credentials of clients and remotes. */
  readonly isGuarded?: boolean;
  readonly hqArgs?: readonly string[];
  readonly hqEnv?: Readonly<Record<string, string>>;
  /** The program of all initial processes; by default this version's. */
  readonly main?: string;
  /** For tests that kill servers, or are about their processes. */
  readonly asProcess?: boolean | undefined;
  /** Whether the HQ reaches the remotes through tunnels. */
  readonly dials?: boolean;
};

export class TestFleet implements AsyncDisposable {
  readonly hq: TestServer;
  readonly #isGuarded: boolean;
  readonly #dials: boolean;
  readonly #asProcess: boolean | undefined;
  readonly #remotes = new Map<string, TestServer>();

  private constructor(
    hq: TestServer,
    { isGuarded = false, asProcess, main, dials = DIALS && main === undefined }: TestFleetOptions,
  ) {
    this.hq = hq;
    this.#isGuarded = isGuarded;
    this.#dials = dials;
    this.#asProcess = asProcess;
  }

  static async start(options: TestFleetOptions = {}): Promise<TestFleet> {
    const { remotes = 1 } = options;
    const fleet = new TestFleet(await startHq(options), options);
    try {
      const names = Array.from({ length: remotes }, (_, index) => `worker-${index + 1}`);
      await Promise.all(names.map((name) => fleet.add(name, programOf(options))));
      await fleet.joined(...names);
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  remote(name: string): TestServer {
    const remote = this.#remotes.get(name);
    if (remote === undefined) throw new Error(`there is no remote ${name} in this fleet`);
    return remote;
  }

  /** Starts another remote, which need not be admitted. `as`: its name in the test, if two have the same name. */
  async add(name: string, more: TestServerOptions & { readonly as?: string } = {}): Promise<TestServer> {
    const { args = [], env = {}, as = name, ...rest } = more;
    const way = this.#dials && !args.includes("--remote-url") ? ["--hq-dial"] : [];
    const proof = this.#isGuarded
      ? { TTYHQ_HQ_USERNAME: CREDENTIALS.username, TTYHQ_HQ_PASSWORD: CREDENTIALS.password }
      : { TTYHQ_NO_HQ_AUTH: "true" };
    const to = ["--hq-url", this.hq.url, "--allow-insecure-hq", "--name", name];
    const remote = await TestServer.start({
      ...programOf({ asProcess: this.#asProcess }),
      ...{ ...rest, args: [...to, ...way, ...NO_LIMITS, ...args] },
      env: { ...REMOTE_LOGIN, ...proof, ...env },
    });
    this.#remotes.set(as, remote);
    return remote;
  }

  /** Sends the HQ a request with the admin's credentials. */
  ask(path: string, question: Question = {}): Promise<Answer> {
    const proof = this.#isGuarded ? { authorization: basic() } : {};
    return ask(this.hq.url, path, { ...question, headers: { ...proof, ...question.headers } });
  }

  async remotes(): Promise<readonly RemoteRecord[]> {
    return endpoints.listRemotes.reply.json.parse((await this.ask("/api/remotes")).json);
  }

  async record(name: string): Promise<RemoteRecord> {
    const record = (await this.remotes()).find((remote) => remote.name === name);
    if (record === undefined) throw new Error(`the HQ has no remote ${name}`);
    return record;
  }

  /** Resolves when the HQ has registered them all. */
  async joined(...names: readonly string[]): Promise<void> {
    await eventually(
      async () => {
        const known = new Set((await this.remotes()).map(({ name }) => name));
        return names.every((name) => known.has(name)) || undefined;
      },
      `${names.join(", ")} in the registry`,
    );
  }

  /**
   * Resolves when the HQ has registered them all and follows their sessions. It reports sessions that began before as
   * changed. A remote that dials is registered before its HQ can reach it.
   */
  async followed(...names: readonly string[]): Promise<void> {
    await this.joined(...names);
    const isFollowed = async (name: string): Promise<true | undefined> => {
      const { status } = await this.ask(`/api/remotes/${name}/refresh-sessions`, { body: {} });
      return status === 200 || undefined;
    };
    await Promise.all(names.map((name) => eventually(() => isFollowed(name), `the sessions of ${name}`)));
  }

  async sessions(): Promise<readonly SessionRecord[]> {
    return endpoints.listSessions.reply.json.parse((await this.ask("/api/sessions")).json);
  }

  /** Creates a session on a remote, through the HQ. */
  async create(name: string, body: CreateSessionBody): Promise<SessionRecord> {
    const { id: remoteId } = await this.record(name);
    const answer = await this.ask("/api/sessions", { body: { ...body, remoteId } });
    if (answer.status !== 201) throw new Error(`status ${answer.status}: ${answer.text}`);
    return endpoints.createSession.reply.json.parse(answer.json);
  }

  /** The HQ's server events from now on; for an HQ without logins. */
  async events(): Promise<ServerEvents> {
    const socket = this.hq.connect();
    const events = ServerEvents.of({
      watch: (listener) => {
        const watching = socket.subscribeGlobal(listener);
        return {
          [Symbol.dispose]: () => {
            watching[Symbol.dispose]();
            socket[Symbol.dispose]();
          },
        };
      },
    });
    await events.first(({ type }) => type === "connected");
    return events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#remotes.values()].map((remote) => remote[Symbol.asyncDispose]()));
    await this.hq[Symbol.asyncDispose]();
  }
}

function programOf({ main, asProcess }: TestFleetOptions): TestServerOptions {
  return { ...(main === undefined ? {} : { main }), ...(asProcess === undefined ? {} : { asProcess }) };
}

function startHq(options: TestFleetOptions): Promise<TestServer> {
  const { isGuarded = false, hqArgs = [], hqEnv: env = {} } = options;
  const args = ["--hq", ...NO_LIMITS, ...hqArgs];
  if (!isGuarded) return TestServer.start({ ...programOf(options), args: ["--no-auth", ...args], env });
  return TestServer.start({
    ...programOf(options),
    args,
    env: { TTYHQ_USERNAME: CREDENTIALS.username, TTYHQ_PASSWORD: CREDENTIALS.password, ...env },
  });
}

/** RFC 7617. */
export function basic(
  username: string = CREDENTIALS.username,
  password: string = CREDENTIALS.password,
): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** The value of a server's metric; for one with labels, the first. */
export async function metric(server: TestServer, name: string): Promise<number> {
  const { text } = await Scrape.of(server);
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text)?.[1];
  if (value === undefined) throw new Error(`no metric ${name}`);
  return Number(value);
}
