// One request through HQ, remote and session host: its id in the logs of all three, and in its answer.
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { AuditLog } from "../harness/audit-log.ts";
import { Follower } from "../harness/follower.ts";
import { ask, openSocket, shakeHands } from "../harness/http.ts";
import { OpensslAuthority } from "../harness/openssl-authority.ts";
import { proxiedServer, proxyOrigin } from "../harness/proxied-server.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { TestServer } from "../harness/test-server.ts";
import { TlsClient } from "../harness/tls-client.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

type Line = Readonly<Record<string, unknown>>;

/** Complete lines only: the last one may be unfinished. */
function linesOf(log: string): readonly Line[] {
  const lines = log.split("\n").slice(0, -1);
  return lines.flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
}

/** Resolves with the lines of that request, once one reports its end. */
async function requestIn(log: () => Promise<string> | string, requestId: string): Promise<readonly Line[]> {
  return await eventually(async () => {
    const lines = linesOf(await log()).filter((line) => line.requestId === requestId);
    return lines.some(({ message }) => message === "request") ? lines : undefined;
  }, `a line of request ${requestId}`);
}

describe("a request through an HQ", () => {
  let fleet: TestFleet;
  let places: Readonly<Record<string, () => Promise<string> | string>>;

  beforeAll(async () => {
    fleet = await TestFleet.start({ remotes: 0, hqArgs: ["--debug"] });
    const remote = await fleet.add("worker-1", { args: ["--debug"] });
    await fleet.joined("worker-1");
    places = { hq: () => fleet.hq.log, remote: () => remote.log, host: () => remote.hostLog() };
  });
  afterAll(() => fleet[Symbol.asyncDispose]());

  test("has the same id in the logs of the HQ, the remote and the session host", async () => {
    const { id: remoteId } = await fleet.record("worker-1");
    const headers = { "x-request-id": "made-by-the-client.1", traceparent: TRACEPARENT, tracestate: "a=1" };
    const answer = await fleet.ask("/api/sessions", { headers, body: { command: ["cat"], remoteId } });
    expect([answer.status, answer.headers["x-request-id"]]).toEqual([201, "made-by-the-client.1"]);
    const logs = Object.values(places).map((log) => requestIn(log, "made-by-the-client.1"));
    for (const lines of await Promise.all(logs)) {
      expect(lines).toContainEqual(
        expect.objectContaining({
          ...{ message: "request", method: "POST", path: "/api/sessions", status: 201 },
          ...{ traceId: TRACE_ID, ms: expect.any(Number) },
        }),
      );
    }
  });

  test("has the same id in the audit logs of the HQ and the remote", async () => {
    const { id: remoteId } = await fleet.record("worker-1");
    const headers = { "x-request-id": "to-be-audited" };
    await fleet.ask("/api/sessions", { headers, body: { command: ["cat"], remoteId } });
    for (const { controlDir } of [fleet.hq, fleet.remote("worker-1")]) {
      const isIt = (line: { requestId?: string | undefined }) => line.requestId === "to-be-audited";
      const line = await new AuditLog(controlDir).line(isIt, "that request");
      expect(line).toMatchObject({ action: "session.create", result: "ok" });
    }
  });

  test("that came without an id gets one, which all three have", async () => {
    const { id: remoteId } = await fleet.record("worker-1");
    const { headers } = await fleet.ask("/api/sessions", { body: { command: ["cat"], remoteId } });
    const id = String(headers["x-request-id"]);
    expect(id).toMatch(UUID);
    for (const lines of await Promise.all(Object.values(places).map((log) => requestIn(log, id))))
      expect(lines.filter((line) => "traceId" in line)).toEqual([]);
  });

  test("that is forwarded as it is keeps its id, too", async () => {
    const headers = { "x-request-id": "forwarded-1" };
    const answer = await fleet.ask("/api/remotes/worker-1/proxy/api/health", { headers });
    expect([answer.status, answer.headers["x-request-id"]]).toEqual([200, "forwarded-1"]);
    const [line] = await requestIn(() => fleet.remote("worker-1").log, "forwarded-1");
    expect(line).toMatchObject({ path: "/api/health", endpoint: "/api/health" });
  });

  test("requests of a client of /ws have the id of its handshake", async () => {
    // More than the HQ gets with its subscription, so that it requests the rest.
    const command = ["sh", "-c", "seq 20000; echo past; cat"];
    const session = await fleet.create("worker-1", { command });
    await eventually(async () => {
      const { text } = await fleet.ask(`/api/sessions/${session.id}/text`);
      return text.includes("past") || undefined;
    }, "the output");
    const clients = () => linesOf(fleet.hq.log).filter(({ message }) => message === "client connected");
    const known = clients().length;
    using first = fleet.hq.connect();
    using live = Follower.attach(first, session.id);
    await live.shows(/past/);
    await eventually(async () => clients()[known], "the line of the first client");
    using socket = fleet.hq.connect();
    using late = Follower.attach(socket, session.id, 0);
    await late.shows(/past/);
    const connected = await eventually(async () => clients()[known + 1], "the line of the second client");
    const [asked] = await requestIn(() => fleet.remote("worker-1").log, String(connected.requestId));
    expect(asked).toMatchObject({
      method: "GET",
      path: expect.stringContaining(`/api/sessions/${session.id}/`),
    });
  });

  test("requests that an HQ makes by itself have no request id", async () => {
    // A remote that dials its HQ is not checked before the first interval is over.
    const asked = await eventually(async () => {
      const lines = linesOf(fleet.remote("worker-1").log).filter(({ path }) => path === "/api/health");
      return lines.find(({ message, requestId }) => message === "request" && requestId !== "forwarded-1");
    }, "a health check");
    expect(asked.requestId).toMatch(UUID);
  });
});

describe("a server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start({ args: ["--no-auth", "--debug", "--session-host", "inline"] });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([
    ["a long one", "x".repeat(129)],
    ["one with spaces and quotes", 'a "b" c'],
    ["one with the end of a terminal's sequence", "a\u009bb"],
    ["one that is a token", "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl"],
  ])("puts a new id in place of %s", async (_, id) => {
    const { headers } = await ask(server.url, "/api/health", { headers: { "x-request-id": id } });
    expect(headers["x-request-id"]).toMatch(UUID);
    await requestIn(() => server.log, String(headers["x-request-id"]));
    expect(server.log).not.toContain(id);
  });

  test("puts a new id in place of two", async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const lines = [
      "GET /livez HTTP/1.1",
      `Host: ${hostname}:${port}`,
      "X-Request-Id: one",
      "X-Request-Id: two",
      "Connection: close",
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/im);
  });

  test("says the id of whatever it answers, be it an error", async () => {
    for (const path of ["/api/sessions/none", "/api/nothing", "/", "/livez", "/api/sessions?token=x"]) {
      const headers = { "x-request-id": "here" };
      expect([path, (await ask(server.url, path, { headers })).headers["x-request-id"]]).toEqual([
        path,
        "here",
      ]);
    }
  });

  test("says the id of a handshake, whether it is let in or refused", async () => {
    const headers = { "x-request-id": "shaking-hands" };
    const { answer, socket } = await openSocket(server.url, "/ws", headers);
    expect([answer.status, answer.headers["x-request-id"]]).toEqual([101, "shaking-hands"]);
    socket?.destroy();
    const refused = await shakeHands(server.url, "/other", headers);
    expect([refused.status, refused.headers["x-request-id"]]).toEqual([404, "shaking-hands"]);
    await eventually(async () => {
      const lines = linesOf(server.log).filter(({ requestId }) => requestId === "shaking-hands");
      const messages = lines.map(({ message }) => message);
      return (messages.includes("client connected") && messages.includes("client left")) || undefined;
    }, "the lines of the client");
  });

  test("writes no query into its lines", async () => {
    await ask(server.url, "/api/sessions?token=of-nobody&other=unseen", { headers: { "x-request-id": "q" } });
    await requestIn(() => server.log, "q");
    expect(server.log).not.toMatch(/of-nobody|unseen/);
  });
});

test("a request through the server's own reverse proxy has the same id there and behind it", async () => {
  await using authority = await OpensslAuthority.make();
  const origin = await proxyOrigin();
  const args = ["--proxy-client-ca", authority.certFile, "--allow-user", "*", "--debug"];
  await using server = await proxiedServer({ origin, authority, args });
  const client = new TlsClient({
    ca: authority.cert,
    ...(await authority.issue({ subject: "/CN=ada", purpose: "clientAuth" })),
  });
  const given = await client.ask(`${origin}/api/sessions`, { headers: { "x-request-id": "through-it" } });
  expect([given.status, given.headers["x-request-id"]]).toEqual([200, "through-it"]);
  expect(await requestIn(() => server.log, "through-it")).toMatchObject([{ path: "/api/sessions" }]);
  const made = (await client.ask(`${origin}/api/sessions`)).headers["x-request-id"];
  expect(made).toMatch(UUID);
  expect(await requestIn(() => server.log, String(made))).toMatchObject([{ path: "/api/sessions" }]);
});
