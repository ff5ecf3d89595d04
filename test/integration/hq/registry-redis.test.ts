// Two HQs that share their registry (contract 6.8): real servers, remotes and Redis.
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { REGISTRY_KEYS } from "../../../src/hq/registry/redis-scripts.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import type { RemoteRecord } from "../../../src/protocol/schemas/remote.ts";
import { bestTime } from "../harness/best-time.ts";
import { FakeRemote } from "../harness/fake-remote.ts";
import { Follower } from "../harness/follower.ts";
import { type Answer, ask } from "../harness/http.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { REDIS_PASSWORD, RedisServer } from "../harness/redis-server.ts";
import { BACK, OUT_OF_REACH } from "../harness/replica.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { OPEN, TestServer } from "../harness/test-server.ts";

const TOLD_WITHIN_MS = 1_000;

/** The remotes know only the first HQ. */
class TwoHqs implements AsyncDisposable {
  readonly redis: RedisServer;
  readonly fleet: TestFleet;
  readonly second: TestServer;
  readonly #owned: AsyncDisposableStack;

  private constructor(redis: RedisServer, fleet: TestFleet, second: TestServer, owned: AsyncDisposableStack) {
    this.redis = redis;
    this.fleet = fleet;
    this.second = second;
    this.#owned = owned;
  }

  static async start(remotes: number): Promise<TwoHqs> {
    await using stack = new AsyncDisposableStack();
    const redis = stack.use(await RedisServer.start());
    const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-shared-")));
    const [url, secret] = [join(folder.path, "registry-url"), join(folder.path, "jwt-secret")];
    await writeFile(url, redis.url);
    await writeFile(secret, "a secret of at least 32 bytes, as it were");
    const hqArgs = ["--registry-url-file", url, "--jwt-secret-file", secret];
    const second = await TestServer.start({
      asProcess: true,
      args: ["--hq", ...OPEN, ...hqArgs],
    });
    stack.use(second);
    const fleet = stack.use(await TestFleet.start({ asProcess: true, remotes, hqArgs, dials: false }));
    return new TwoHqs(redis, fleet, second, stack.move());
  }

  get first(): TestServer {
    return this.fleet.hq;
  }

  /** Resolves when that HQ's list of remotes is as expected. */
  async remotesAt(
    hq: TestServer,
    isWanted: (remotes: readonly RemoteRecord[]) => boolean,
  ): Promise<readonly RemoteRecord[]> {
    return await eventually(async () => {
      const remotes = endpoints.listRemotes.reply.json.parse((await ask(hq.url, "/api/remotes")).json);
      return isWanted(remotes) ? remotes : undefined;
    }, "the list of remotes");
  }

  async sessionAt(hq: TestServer, id: string): Promise<void> {
    const isListed = async (): Promise<true | undefined> => {
      const sessions = endpoints.listSessions.reply.json.parse((await ask(hq.url, "/api/sessions")).json);
      return sessions.some((session) => session.id === id) || undefined;
    };
    await eventually(isListed, `session ${id} in the list`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

const has =
  (...names: readonly string[]) =>
  (remotes: readonly RemoteRecord[]): boolean =>
    names.every((name) => remotes.some((remote) => remote.name === name));

/** A server that registers by hand and answers health checks. */
async function claimant(id: string) {
  const body = { status: "healthy", mode: "remote", remoteId: id };
  const remote = await FakeRemote.open((path) =>
    path === "/api/health" ? { status: 200, body } : { status: 404 },
  );
  return {
    body: { id, url: remote.url, token: "t" },
    [Symbol.asyncDispose]: () => remote[Symbol.asyncDispose](),
  };
}

const text = (typed: string): Uint8Array => new TextEncoder().encode(typed);
/** The output of a terminal with cat for a typed line. */
const echoed = (line: string): RegExp => new RegExp(`${line}\\r\\n${line}\\r\\n`);
const CAT = { command: ["cat"] };

describe("two HQs that share a registry", () => {
  let hqs: TwoHqs;
  beforeAll(async () => {
    hqs = await TwoHqs.start(1);
  });
  afterAll(() => hqs[Symbol.asyncDispose]());

  test("have a remote that joins one of them within a second, with its sessions, for viewers of both", async () => {
    const { fleet, first, second } = hqs;
    let number = 0;
    const name = (): string => `newcomer-${number}`;
    const join = async (): Promise<number> => {
      number += 1;
      await fleet.add(name());
      await fleet.joined(name());
      const joined = performance.now();
      const remotes = await hqs.remotesAt(second, has(name()));
      const tookMs = performance.now() - joined;
      expect(remotes.map((remote) => remote.id)).toContain((await fleet.record(name())).id);
      return tookMs;
    };
    expect(await bestTime(TOLD_WITHIN_MS, join)).toBeLessThan(TOLD_WITHIN_MS);
    let id = "";
    const appear = async (): Promise<number> => {
      ({ id } = await fleet.create(name(), CAT));
      const created = performance.now();
      await hqs.sessionAt(second, id);
      return performance.now() - created;
    };
    expect(await bestTime(TOLD_WITHIN_MS, appear)).toBeLessThan(TOLD_WITHIN_MS);
    using viewers = new DisposableStack();
    const sockets = [first, second].map((hq) => viewers.use(hq.connect()));
    await Promise.all(sockets.map((socket) => socket.opened(PATIENCE_MS)));
    const followers = sockets.map((socket) => viewers.use(Follower.attach(socket, id)));
    for (const [index, socket] of sockets.entries()) {
      await socket.write(id, text(`line ${index}\r`));
      await Promise.all(followers.map((follower) => follower.shows(echoed(`line ${index}`))));
    }
  });

  test("are the same HQ to a remote, and neither takes the other for one", async () => {
    const [one, other] = await Promise.all([hqs.first, hqs.second].map((hq) => hq.client().health()));
    expect(one?.instanceId).toBe(other?.instanceId);
    expect(one?.pid).not.toBe(other?.pid);
    const body = { id: "loop", name: "loop", url: hqs.second.url, token: "t" };
    const answer = await hqs.fleet.ask("/api/remotes/register", { body });
    expect([answer.status, answer.json]).toMatchObject([400, { code: "invalid_request" }]);
    expect(answer.json.error).toContain("leads to this HQ itself");
  });

  test("both lose a remote that is removed at one of them, and say so", async () => {
    const { fleet, first, second } = hqs;
    await using events = await fleet.events();
    const body = { id: "removed", name: "removed", url: "http://127.0.0.1:9", token: "t" };
    expect((await ask(second.url, "/api/remotes/register", { body })).status).toBe(200);
    await hqs.remotesAt(first, has("removed"));
    expect((await ask(second.url, "/api/remotes/removed", { method: "DELETE" })).status).toBe(200);
    const isOver = ({ type, remoteId }: ServerEvent): boolean =>
      type === "remote-left" && remoteId === "removed";
    expect(await events.first(isOver)).toMatchObject({ remoteName: "removed" });
    await hqs.remotesAt(first, (remotes) => !has("removed")(remotes));
  });

  test("are ready once they know the sessions of the remotes", async () => {
    const { fleet, second } = hqs;
    const { id } = await fleet.create("worker-1", CAT);
    const ready = (): Promise<Answer> => ask(second.url, "/api/ready");
    const isReady = async (): Promise<true | undefined> =>
      (await ready()).status === 200 ? true : undefined;
    using _resumed = { [Symbol.dispose]: () => fleet.remote("worker-1").signal("SIGCONT") };
    fleet.remote("worker-1").signal("SIGSTOP");
    await second.restart();
    const starting = { code: "starting", details: { status: "starting" } };
    expect(await ready()).toMatchObject({ status: 503, json: starting });
    fleet.remote("worker-1").signal("SIGCONT");
    await eventually(isReady, "the HQ ready");
    const sessions = endpoints.listSessions.reply.json.parse((await ask(second.url, "/api/sessions")).json);
    expect(sessions.map((session) => session.id)).toContain(id);
  });

  test("give a name that is claimed at both at once to one", async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = `claimed-${round}`;
      await using one = await claimant(`${name}-one`);
      await using other = await claimant(`${name}-other`);
      const answers = await Promise.all([
        ask(hqs.first.url, "/api/remotes/register", { body: { ...one.body, name } }),
        ask(hqs.second.url, "/api/remotes/register", { body: { ...other.body, name } }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      expect(answers.find(({ status }) => status === 409)?.json.code).toBe("remote_name_taken");
      const winner = answers[0]?.status === 200 ? one : other;
      const isAgreed = (remotes: readonly RemoteRecord[]): boolean =>
        `${remotes.filter((remote) => remote.name === name).map(({ id }) => id)}` === winner.body.id;
      await hqs.remotesAt(hqs.first, isAgreed);
      await hqs.remotesAt(hqs.second, isAgreed);
    }
  });

  test("go on with a remote that comes back to one of them with another token", async () => {
    const { fleet, second } = hqs;
    const { id } = await fleet.create("worker-1", CAT);
    await hqs.sessionAt(second, id);
    using socket = second.connect();
    await socket.opened(PATIENCE_MS);
    using follower = Follower.attach(socket, id);
    await socket.write(id, text("before\r"));
    await follower.shows(echoed("before"));
    await fleet.remote("worker-1").restart();
    const isWritten = async (): Promise<true | undefined> =>
      await socket.write(id, text("after\r")).then(
        () => true,
        () => undefined,
      );
    await eventually(isWritten, "a way to the remote");
    await follower.shows(echoed("after"));
    expect(follower.resyncs).toEqual([]);
  });
});

test("when one HQ dies, the other continues and checks the remotes", async () => {
  await using hqs = await TwoHqs.start(1);
  const { fleet, second } = hqs;
  const { id } = await fleet.create("worker-1", CAT);
  await hqs.sessionAt(second, id);
  using socket = second.connect();
  await socket.opened(PATIENCE_MS);
  using follower = Follower.attach(socket, id);
  const [before] = await hqs.remotesAt(second, has("worker-1"));
  await fleet.hq.kill("SIGKILL");
  await socket.write(id, text("still here\r"));
  await follower.shows(echoed("still here"));
  const [after] = await hqs.remotesAt(second, ([remote]) => remote?.lastHeartbeat !== before?.lastHeartbeat);
  expect(after).toMatchObject({ name: "worker-1", sessionIds: [id] });
  await hqs.sessionAt(second, id);
});

test("an HQ that starts again has its remotes at once, without a word from them", async () => {
  await using hqs = await TwoHqs.start(1);
  const { fleet, second } = hqs;
  const { id } = await fleet.create("worker-1", CAT);
  const { instanceId } = await second.client().health();
  await second.restart();
  await hqs.remotesAt(second, has("worker-1"));
  await hqs.sessionAt(second, id);
  expect((await second.client().health()).instanceId).toBe(instanceId);
});

test("while Redis is away both go on, and when it is back they share what has come", async () => {
  await using hqs = await TwoHqs.start(1);
  const { redis, fleet, first, second } = hqs;
  const { id } = await fleet.create("worker-1", CAT);
  await hqs.sessionAt(second, id);
  using socket = second.connect();
  await socket.opened(PATIENCE_MS);
  using follower = Follower.attach(socket, id);
  await redis.stop({ isDataKept: true });
  for (const hq of [first, second]) {
    await eventually(async () => hq.log.includes(OUT_OF_REACH) || undefined, "a word about it");
  }
  await fleet.add("worker-2");
  await fleet.joined("worker-1", "worker-2");
  await socket.write(id, text("without\r"));
  await follower.shows(echoed("without"));
  await hqs.remotesAt(second, (remotes) => has("worker-1")(remotes) && !has("worker-2")(remotes));
  await redis.resume();
  await hqs.remotesAt(second, has("worker-1", "worker-2"));
  await hqs.remotesAt(first, has("worker-1", "worker-2"));
  for (const hq of [first, second]) {
    await eventually(async () => hq.log.includes(BACK) || undefined, "a word about it");
    expect(hq.log.split(OUT_OF_REACH)).toHaveLength(2);
    expect(hq.log.split(BACK)).toHaveLength(2);
  }
});

test("nothing that is secret is told in Redis or in a log", async () => {
  await using hqs = await TwoHqs.start(0);
  const { redis, fleet, first, second } = hqs;
  const body = { id: "by-hand", name: "by-hand", url: "http://127.0.0.1:9", token: "the-token-of-by-hand" };
  expect((await fleet.ask("/api/remotes/register", { body })).status).toBe(200);
  await hqs.remotesAt(second, has("by-hand"));
  const [kept, changes] = await redis.ask((asking) =>
    Promise.all([asking.hvals(REGISTRY_KEYS.remotes), asking.xrange(REGISTRY_KEYS.changes, "-", "+")]),
  );
  await redis.stop({ isDataKept: true });
  await eventually(async () => second.log.includes(OUT_OF_REACH) || undefined, "a word about it");
  const told = JSON.stringify([kept, changes, first.log, second.log]);
  expect(told).toContain("by-hand");
  for (const secret of ["the-token-of-by-hand", REDIS_PASSWORD, encodeURIComponent(REDIS_PASSWORD)]) {
    expect(told).not.toContain(secret);
  }
});

test("an HQ whose Redis cannot be reached does not start, and says why", async () => {
  const env = { TTYHQ_REGISTRY_URL: "redis://:pass%2Bword@127.0.0.1:9", TTYHQ_JWT_SECRET: "s".repeat(32) };
  const start = TestServer.start({ asProcess: true, args: ["--hq", "--no-auth"], env }).catch(
    (error: Error) => error.message,
  );
  const message = await start;
  expect(message).toContain(
    "cannot use the registry at redis://127.0.0.1:9: connect ECONNREFUSED 127.0.0.1:9",
  );
  expect(message).not.toContain("pass%2Bword");
});
