// The list of an HQ: its knowledge of its remotes, kept up to date, and never waiting for one (contract 6.4, 6.6).
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { bestTime } from "../harness/best-time.ts";
import { FakeRemote } from "../harness/fake-remote.ts";
import { ask } from "../harness/http.ts";
import { Rest } from "../harness/rest.ts";
import { Scrape } from "../harness/scrape.ts";
import { ServerEvents } from "../harness/server-events.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import type { TestServer } from "../harness/test-server.ts";

const PROXY = "/api/remotes/worker-1/proxy/api/sessions";

test("a session made on the remote itself appears within 1 s, is told when the list has it, and goes when it is removed", async () => {
  await using fleet = await TestFleet.start({ remotes: 0 });
  // Without a login, so that the test can use it directly.
  const remote = await fleet.add("worker-1", { args: ["--no-auth"] });
  await fleet.followed("worker-1");
  await using events = await fleet.events();
  const appear = async (): Promise<number> => {
    const started = performance.now();
    const { id } = await remote.client().create({ command: ["cat"] });
    const listed = (): Promise<boolean> =>
      fleet.sessions().then((records) => records.some((record) => record.id === id));
    await events.first(({ type, sessionId }) => type === "session-start" && sessionId === id);
    expect(await listed()).toBe(true);
    const tookMs = performance.now() - started;
    expect((await fleet.record("worker-1")).sessionIds).toEqual([id]);

    await remote.client().remove(id);
    await remote.client().remove(id);
    await events.first(({ type, sessionId }) => type === "session-removed" && sessionId === id);
    expect(await listed()).toBe(false);
    expect((await fleet.record("worker-1")).sessionIds).toEqual([]);
    expect((await fleet.ask(`/api/sessions/${id}`)).status).toBe(404);
    return tookMs;
  };
  expect(await bestTime(1_000, appear)).toBeLessThan(1_000);
});

test("creating a session through an HQ costs one request and one event at each hop", async () => {
  await using fleet = await TestFleet.start({ remotes: 0 });
  const remote = await fleet.add("worker-1", { args: ["--no-auth"] });
  await fleet.followed("worker-1");
  await using atHq = await fleet.events();
  using socket = remote.connect();
  await using atRemote = ServerEvents.of({ watch: (listener) => socket.subscribeGlobal(listener) });
  await atRemote.first(({ type }) => type === "connected");
  const { id: remoteId } = await fleet.record("worker-1");
  const before = [await requests(fleet.hq), await requests(remote)];
  const { json } = await fleet.ask("/api/sessions", { body: { remoteId, command: ["cat"] } });
  for (const events of [atHq, atRemote]) {
    await events.first(({ type, sessionId }) => type === "session-start" && sessionId === json.id);
    expect(events.all.filter(({ sessionId }) => sessionId === json.id)).toHaveLength(1);
  }
  expect((await fleet.sessions()).map(({ id }) => id)).toContain(json.id);
  const after = [await requests(fleet.hq), await requests(remote)];
  const listed = { "get /api/sessions": 1 };
  expect(after.map((counts, index) => difference(counts, before[index] ?? {}))).toEqual([
    { "post /api/sessions": 1, ...listed },
    { "post /api/sessions": 1 },
  ]);
});

test("refresh-sessions reads the list of a remote anew", async () => {
  await using fleet = await TestFleet.start();
  await fleet.create("worker-1", { command: ["cat"] });
  const refresh = (name: string) =>
    fleet.ask(`/api/remotes/${name}/refresh-sessions`, { body: { action: "created", sessionId: "x" } });
  expect(await refresh("worker-1")).toMatchObject({ status: 200, json: { success: true, sessionCount: 1 } });
  expect(await refresh("nobody")).toMatchObject({ status: 404, json: { code: "remote_not_found" } });
  const wrong = { action: "renamed" };
  expect((await fleet.ask("/api/remotes/worker-1/refresh-sessions", { body: wrong })).status).toBe(400);
});

test("a remote without a socket is known from its list, which refresh-sessions reads", async () => {
  await using fleet = await TestFleet.start({ remotes: 0 });
  const session = { id: "one", name: "one", status: "running", command: ["cat"], cwd: "/" };
  await using remote = await FakeRemote.open((path) => {
    if (path === "/api/health") return { status: 200, body: { status: "healthy" } };
    return path === "/api/sessions" ? { status: 200, body: [session] } : { status: 404, body: {} };
  });
  const body = { id: "list", name: "list", url: remote.url, token: "t" };
  expect((await fleet.ask("/api/remotes/register", { body })).status).toBe(200);
  const refreshed = async () =>
    (await fleet.ask("/api/remotes/list/refresh-sessions", { body: {} })).json.sessionCount === 1 ||
    undefined;
  await eventually(refreshed, "the list of the remote");
  expect((await fleet.sessions()).map(({ id, source }) => [id, source])).toEqual([["one", "list"]]);
});

test("of two remotes with the same session id the first one counts, the other is a conflict, until the first is gone", async () => {
  await using fleet = await TestFleet.start({ remotes: 0 });
  const [first, second] = [
    await fleet.add("worker-1", { args: ["--no-auth"] }),
    await fleet.add("worker-2", { args: ["--no-auth"] }),
  ];
  await fleet.followed("worker-1", "worker-2");
  await using events = await fleet.events();
  const id = "same";
  await first.client().create({ id, command: ["sh", "-c", "echo first; cat"] });
  await events.first(({ type }) => type === "session-start");
  await second.client().create({ id, command: ["sh", "-c", "echo second; cat"] });
  await eventually(async () => (await fleet.record("worker-2")).conflicts, "the conflict");
  expect(await fleet.record("worker-2")).toMatchObject({ sessionIds: [], conflicts: [id] });
  expect((await fleet.record("worker-1")).conflicts).toBeUndefined();
  await fleet.hq.logged("another remote already has the session id");
  expect((await fleet.sessions()).map(({ source }) => source)).toEqual(["worker-1"]);
  const text = async (): Promise<string> => (await fleet.ask(`/api/sessions/${id}/output`)).text;
  await eventually(async () => ((await text()) === "first\r\n" ? true : undefined), "the first one's output");
  await new Rest(second).shows(id, /second/);
  // Events of the other remote's session reach nobody.
  await second.client().kill(id, "SIGKILL");
  await fleet.ask("/api/remotes/worker-2/refresh-sessions", { body: {} });
  expect((await fleet.ask(`/api/sessions/${id}`)).json.status).toBe("running");
  expect(events.all.filter(({ type }) => type === "session-exit")).toEqual([]);

  await first.client().remove(id);
  await first.client().remove(id);
  await events.first(({ type }) => type === "session-removed");
  expect((await fleet.sessions()).map(({ source }) => source)).toEqual(["worker-2"]);
  expect(await text()).toBe("second\r\n");
});

test("the HQ's own sessions are those of the remote `local`, with --hq-sessions", async () => {
  await using fleet = await TestFleet.start({ hqArgs: ["--hq-sessions"] });
  const there = await fleet.create("worker-1", { command: ["cat"] });
  const { status, json } = await fleet.ask("/api/sessions", {
    body: { remoteId: "local", command: ["cat"] },
  });
  expect([status, json]).toEqual([
    201,
    expect.objectContaining({ source: "local", remoteId: "local", remoteName: "local" }),
  ]);
  const sources = new Map((await fleet.sessions()).map(({ id, source }) => [id, source]));
  expect(sources).toEqual(
    new Map([
      [there.id, "worker-1"],
      [json.id, "local"],
    ]),
  );
  expect((await fleet.remotes()).map(({ name }) => name)).toEqual(["worker-1"]);
  expect(await fleet.hq.client().health()).toMatchObject({ mode: "hq", sessions: 2, remotes: 1 });
  expect((await fleet.ask("/api/remotes/local/proxy/api/sessions")).status).toBe(404);
});

test("only requests about sessions and repositories are forwarded to a remote", async () => {
  await using fleet = await TestFleet.start({ asProcess: true });
  const at = (path: string, question: object = {}) =>
    fleet.ask(`/api/remotes/worker-1/proxy${path}`, question);
  expect((await at("/api/health")).json).toMatchObject({ mode: "remote" });
  expect((await at("/health")).json).toMatchObject({ mode: "remote" });
  const ways = [
    "/api/auth/token",
    "/api/auth/ws-ticket",
    "/api/remotes",
    "/metrics",
    "/api/sessions/../auth/token",
  ];
  ways.push("/api/sessions/%2e%2e/auth/token", "/api/%2e%2e/metrics");
  for (const path of ways) {
    const { status, json } = await at(path, { body: {} });
    expect([path, status, json.code]).toEqual([path, 404, "not_found"]);
  }
  // An escaped slash stays in its segment, so the id is invalid.
  const escaped = await at("/api/sessions/..%2fauth%2ftoken");
  expect([escaped.status, escaped.json.details?.issues[0].path]).toEqual([400, "id"]);
  const create = await at("/api/sessions", { body: { command: ["true"] } });
  expect([create.status, create.json.code]).toEqual([404, "not_found"]);
  expect((await fleet.ask(PROXY.replace("worker-1", "nobody"))).json.code).toBe("remote_not_found");
  await fleet.remote("worker-1").kill();
  const unreachable = await fleet.ask(PROXY);
  expect([unreachable.status, unreachable.json.code]).toEqual([502, "remote_unreachable"]);
});

test("with one of 20 remotes hanging the list takes less than 50 ms, and everything of the others works", async () => {
  await using fleet = await TestFleet.start();
  const { id } = await fleet.create("worker-1", { command: ["cat"] });
  await using hanging = await FakeRemote.hanging();
  await using quick = await FakeRemote.open((path) => {
    if (path === "/api/health") return { status: 200, body: { status: "healthy" } };
    return path === "/api/sessions" ? { status: 200, body: [] } : { status: 404, body: {} };
  });
  for (let number = 2; number <= 20; number++) {
    const { url } = number === 20 ? hanging : quick;
    const body = { id: `fake-${number}`, name: `fake-${number}`, url, token: "t" };
    expect((await fleet.ask("/api/remotes/register", { body })).status).toBe(200);
  }
  await hanging.asked("/api/health");
  const median = async (): Promise<number> => {
    const times: number[] = [];
    for (let round = 0; round < 50; round++) {
      const started = performance.now();
      const { json } = await ask(fleet.hq.url, "/api/sessions");
      times.push(performance.now() - started);
      expect(json).toHaveLength(1);
    }
    return times.toSorted((a, b) => a - b)[25] ?? Number.NaN;
  };
  expect(await bestTime(50, median)).toBeLessThan(50);
  expect((await fleet.ask(`/api/sessions/${id}/input`, { body: { text: "x" } })).status).toBe(200);
  const { id: remoteId } = await fleet.record("worker-1");
  expect((await fleet.ask("/api/sessions", { body: { remoteId, command: ["cat"] } })).status).toBe(201);
});

/** The number of session requests that a server has answered, by endpoint. */
async function requests(server: TestServer): Promise<Readonly<Record<string, number>>> {
  const { samples } = await Scrape.of(server);
  const about = samples.filter(
    ({ name, labels }) =>
      name === "ttyhq_http_requests_total" &&
      (labels.endpoint?.startsWith("/api/sessions") || labels.endpoint?.includes("refresh-sessions")),
  );
  return Object.fromEntries(
    about.map(({ labels, value }) => [`${labels.method} ${labels.endpoint}`.toLowerCase(), value]),
  );
}

function difference(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const counts = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0));
}
