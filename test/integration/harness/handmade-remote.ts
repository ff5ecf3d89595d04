// An HQ that accepts only join tokens, and a handmade, possibly hostile remote.
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { joinRequest, keptRemoteKey, remoteIdOf } from "../../../src/hq/joining/remote-key.ts";
import { tunnelPath } from "../../../src/protocol/schemas/remote.ts";
import { FakeRemote } from "./fake-remote.ts";
import { type Answer, ask, type Question, shakeHands } from "./http.ts";
import { basic, CREDENTIALS } from "./test-fleet.ts";
import { NO_LIMITS, TestServer } from "./test-server.ts";

const HQ_ENV = { TTYHQ_USERNAME: CREDENTIALS.username, TTYHQ_PASSWORD: CREDENTIALS.password };

/** Sends requests with the HQ's password. */
export const asAdmin = (hq: TestServer, path: string, question: Question = {}): Promise<Answer> =>
  ask(hq.url, path, { ...question, headers: { authorization: basic() } });

export async function newToken(
  hq: TestServer,
  body: object,
): Promise<{ readonly id: string; readonly token: string }> {
  const { status, json } = await asAdmin(hq, "/api/remotes/join-tokens", { body });
  expect(status).toBe(201);
  return json;
}

export const startHq = (
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<TestServer> =>
  TestServer.start({
    asProcess: true,
    args: ["--hq", "--no-basic-join", ...NO_LIMITS, ...args],
    env: { ...HQ_ENV, ...env },
  });

/** Answers as the remote of that id, without sessions. */
function healthy(remoteId: string): Promise<FakeRemote> {
  return FakeRemote.open((path) => {
    if (path === "/api/health") return { status: 200, body: { status: "healthy", remoteId } };
    return path === "/api/sessions" ? { status: 200, body: [] } : { status: 404, body: {} };
  });
}

/** A remote that performs the steps of a hostile one by hand. */
export class HandmadeRemote implements AsyncDisposable {
  readonly name: string;
  readonly id: string;
  readonly #credential: string;
  readonly #fake: FakeRemote;

  private constructor(name: string, id: string, credential: string, fake: FakeRemote) {
    this.name = name;
    this.id = id;
    this.#credential = credential;
    this.#fake = fake;
  }

  static async join(hq: TestServer, name: string): Promise<HandmadeRemote> {
    await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-handmade-"));
    const key = await keptRemoteKey(join(directory.path, "key.json"), { name, mayMake: true });
    if (key === undefined) throw new Error("no key");
    const { token: joinToken } = await newToken(hq, { name });
    const { instanceId: hqId } = (await ask(hq.url, "/api/health")).json;
    const body = { ...joinRequest(key, { hqId, timestamp: Date.now() }), joinToken };
    const { status, json } = await ask(hq.url, "/api/remotes/join", { body });
    expect(status).toBe(200);
    const id = remoteIdOf(key.publicKey);
    return new HandmadeRemote(name, id, json.token, await healthy(id));
  }

  get headers(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.#credential}` };
  }

  ask(hq: TestServer, path: string, question: Question = {}): Promise<Answer> {
    return ask(hq.url, path, { ...question, headers: this.headers });
  }

  register(hq: TestServer, more: object = {}): Promise<Answer> {
    const body = { id: this.id, name: this.name, url: this.#fake.url, token: "unasked", ...more };
    return this.ask(hq, "/api/remotes/register", { body });
  }

  /** Opens the handshake of a tunnel: for the remote `id`, by default its own. */
  tunnel(hq: TestServer, id: string = this.id): Promise<Answer> {
    return shakeHands(hq.url, tunnelPath(id), this.headers);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#fake[Symbol.asyncDispose]();
  }
}
