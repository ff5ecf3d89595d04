// Users of one server: each with a token as a login would give it, so that no test needs their passwords.
import { AccessTokens } from "../../../src/auth/access-token.ts";
import { Secret } from "../../../src/lib/secret.ts";
import type { CreateSessionBody, SessionRecord } from "../../../src/protocol/session.ts";
import { SystemUser } from "../auth/system-user.ts";
import { PASSWORD, TOKEN_SECRET, USERNAME } from "./password-server.ts";
import { type Answer, ask, type Question } from "./raw-http.ts";
import { RawSocket } from "./raw-socket.ts";
import { TestServer, type TestServerOptions } from "./test-server.ts";

const tokens = new AccessTokens({
  secret: Secret.fromText(TOKEN_SECRET),
  revocations: { has: () => false, add: async () => {}, watch: () => new DisposableStack() },
  now: () => Date.now(),
});

const NO_LIMITS = ["--rate-limit-api", "0", "--rate-limit-sessions", "0"];

/** Two users who may log in, and one who may everything beside the server's own user; of this system where the server runs as root and their programs as them. */
export class People implements AsyncDisposable {
  readonly one: string;
  readonly other: string;
  readonly admin: string;
  readonly #users: AsyncDisposableStack;

  private constructor(names: readonly [string, string, string], users: AsyncDisposableStack) {
    [this.one, this.other, this.admin] = names;
    this.#users = users;
  }

  static async make(): Promise<People> {
    await using users = new AsyncDisposableStack();
    if (process.getuid?.() !== 0) return new People(["one", "other", "admin"], users.move());
    const one = users.use(await SystemUser.make());
    const other = users.use(await SystemUser.make());
    const admin = users.use(await SystemUser.make());
    return new People([one.name, other.name, admin.name], users.move());
  }

  /** A server that they may log in to. */
  server(options: TestServerOptions = {}): Promise<TestServer> {
    const { args = [], env = {}, ...rest } = options;
    const users = ["--allow-user", this.one, "--allow-user", this.other, "--admin-user", this.admin];
    return TestServer.start({
      ...{ ...rest, args: [...users, ...NO_LIMITS, ...args] },
      env: {
        ...{ SERVICE_USERNAME: USERNAME, SERVICE_PASSWORD: PASSWORD, TTYHQ_JWT_SECRET: TOKEN_SECRET },
        ...env,
      },
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#users.disposeAsync();
  }
}

/** One of them, or whoever has a token, at a server. */
export class Person {
  readonly server: TestServer;
  readonly headers: Readonly<Record<string, string>>;

  constructor(server: TestServer, token: string) {
    this.server = server;
    this.headers = { authorization: `Bearer ${token}` };
  }

  static named(server: TestServer, user: string): Person {
    return new Person(server, tokens.issue(user).token);
  }

  ask(path: string, question: Question = {}): Promise<Answer> {
    return ask(this.server.url, path, { ...question, headers: { ...this.headers, ...question.headers } });
  }

  async start(body: CreateSessionBody): Promise<SessionRecord> {
    const answer = await this.ask("/api/sessions", { body });
    if (answer.status !== 201) throw new Error(`status ${answer.status}: ${answer.text}`);
    return answer.json;
  }

  /** The ids of the sessions that are listed. */
  async listed(): Promise<readonly string[]> {
    const { json } = await this.ask("/api/sessions");
    return json.map(({ id }: SessionRecord) => id);
  }

  /** A socket that was welcomed. */
  connect(): Promise<RawSocket> {
    return RawSocket.open(this.server.url, { headers: this.headers });
  }
}
