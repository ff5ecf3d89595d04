// Common session operations of REST tests: real calls, whole answers.
import supertest from "supertest";
import { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { Follower } from "./follower.ts";
import { type Answer, ask } from "./http.ts";
import type { TestServer } from "./test-server.ts";

export class Rest {
  /** For expectations of status, headers and JSON; `get` and `send` return the exact bytes. */
  readonly api: ReturnType<typeof supertest>;
  readonly #server: TestServer;

  constructor(server: TestServer) {
    this.#server = server;
    this.api = supertest(server.url);
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return ask(this.#server.url, path, { headers });
  }

  /** Any other method; the body is JSON unless it is text. */
  send(method: string, path: string, body?: unknown): Promise<Answer> {
    return ask(this.#server.url, path, { method, body });
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.send("POST", path, body);
  }

  /** Creates a session; throws with the whole answer if that fails. */
  async create(body: object): Promise<SessionRecord> {
    const answer = await this.post("/api/sessions", body);
    if (answer.status !== 200 && answer.status !== 201)
      throw new Error(`status ${answer.status}: ${answer.text}`);
    return SessionRecord.parse(answer.json);
  }

  /** A script of the POSIX shell. */
  run(script: string): Promise<SessionRecord> {
    return this.create({ command: "sh", args: ["-c", script] });
  }

  async record(id: string): Promise<SessionRecord> {
    return SessionRecord.parse((await this.get(`/api/sessions/${id}`)).json);
  }

  /** The record of a session after its program has ended by itself. */
  async ended(id: string): Promise<SessionRecord> {
    using socket = this.#server.connect();
    using follower = Follower.attach(socket, id);
    await follower.exit();
    return this.record(id);
  }

  /** Resolves when the session's output matches the pattern. */
  async shows(id: string, pattern: RegExp): Promise<void> {
    using socket = this.#server.connect();
    using follower = Follower.attach(socket, id);
    await follower.shows(pattern);
  }
}
