// Users of one server, each with a token as from a login, so that tests need no passwords.
import { mkdtemp } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { CreateSessionBody, SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { type CreateShare, NewShare, type ShareMode } from "../../../src/protocol/schemas/share.ts";
import { SystemUser } from "../auth/system-user.ts";
import { type Answer, ask, type Question } from "./http.ts";
import { keepLogins, knownToken } from "./known-logins.ts";
import { PASSWORD, TOKEN_SECRET, USERNAME } from "./password-server.ts";
import { RawSocket } from "./raw-socket.ts";
import { NO_LIMITS, TestServer, type TestServerOptions } from "./test-server.ts";

/** A user with an old login who may no longer log in. */
export const STRANGER = "eve";

/**
 * Two users who may log in, and one with all permissions beside the server's own user. If the server runs as root they
 * are users of this system, and their programs run as them.
 */
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

  /** A server that they may log in to. `others`: further users with a login there. */
  async server(
    options: TestServerOptions & { readonly others?: readonly string[] } = {},
  ): Promise<TestServer> {
    const { args = [], env = {}, directory = tmpdir(), others = [], ...rest } = options;
    const { controlDir = await mkdtemp(join(directory, "ttyhq-")) } = rest;
    await keepLogins(controlDir, [
      this.one,
      this.other,
      this.admin,
      USERNAME,
      userInfo().username,
      STRANGER,
      ...others,
    ]);
    const users = ["--allow-user", this.one, "--allow-user", this.other, "--admin-user", this.admin];
    return await TestServer.start({
      ...{ ...rest, controlDir, args: [...users, ...NO_LIMITS, ...args] },
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

/** A user, or the holder of any token, at a server. */
export class Person {
  readonly server: TestServer;
  readonly headers: Readonly<Record<string, string>>;

  constructor(server: TestServer, token: string) {
    this.server = server;
    this.headers = { authorization: `Bearer ${token}` };
  }

  static named(server: TestServer, user: string): Person {
    return new Person(server, knownToken(user));
  }

  ask(path: string, question: Question = {}): Promise<Answer> {
    return ask(this.server.url, path, { ...question, headers: { ...this.headers, ...question.headers } });
  }

  async start(body: CreateSessionBody): Promise<SessionRecord> {
    const answer = await this.ask("/api/sessions", { body });
    if (answer.status !== 201) throw new Error(`status ${answer.status}: ${answer.text}`);
    return answer.json;
  }

  /** A new share link. */
  async share(session: SessionRecord, mode: ShareMode, more: Partial<CreateShare> = {}): Promise<NewShare> {
    const answer = await this.ask(`/api/sessions/${session.id}/share`, { body: { mode, ...more } });
    if (answer.status !== 201) throw new Error(`status ${answer.status}: ${answer.text}`);
    return NewShare.parse(answer.json);
  }

  /** The ids of the listed sessions. */
  async listed(): Promise<readonly string[]> {
    const { json } = await this.ask("/api/sessions");
    return json.map(({ id }: SessionRecord) => id);
  }

  /** A socket that has received WELCOME. */
  connect(): Promise<RawSocket> {
    return RawSocket.open(this.server.url, { headers: this.headers });
  }
}
