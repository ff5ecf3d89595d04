// A server's announcements after SIGTERM, and their order (docs/operations.md).
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { FrameType } from "../../src/protocol/frame/frame.ts";
import { decodeGoAway, encodeJson } from "../../src/protocol/frame/payload.ts";
import { headOf } from "./harness/answer-head.ts";
import { ask } from "./harness/http.ts";
import { PATIENCE_MS } from "./harness/patience.ts";
import { RawSocket } from "./harness/raw-socket.ts";
import { OPEN, TestServer } from "./harness/test-server.ts";
import { VibeTunnelClient } from "./harness/vibetunnel-client.ts";

/** More than the buffers of a connection and the programs on both sides. */
const DOWNLOAD_BYTES = 48 * 1024 * 1024;

async function greeted(server: TestServer): Promise<RawSocket> {
  const socket = await RawSocket.open(server.url);
  socket.send(FrameType.HELLO, "", encodeJson({ client: "test", version: "0" }));
  await socket.settled();
  return socket;
}

async function notReady(base: string): Promise<{ readonly status: number; readonly json: unknown }> {
  return eventually(async () => {
    const answer = await ask(base, "/api/ready");
    return answer.status === 200 ? undefined : answer;
  }, "the end of readiness");
}

test("a server that is told to stop is not ready at once, goes on for the delay, sends its clients away, and ends with 0", async () => {
  await using server = await TestServer.start({
    asProcess: true,
    args: [...OPEN, "--drain-delay", "8s", "--grace", "30s"],
  });
  expect((await ask(server.url, "/api/ready")).json).toEqual({ status: "ready" });
  await using known = await greeted(server);
  const { id } = await server.client().create({ command: ["cat"] });
  const ended = server.kill("SIGTERM");
  expect(await notReady(server.url)).toMatchObject({
    status: 503,
    json: { code: "shutting_down", details: { status: "draining" } },
  });
  expect((await ask(server.url, "/readyz")).status).toBe(503);
  // Alive and fully working, on connections that are closed after their answer.
  const keepAlive = { connection: "keep-alive" };
  const health = await ask(server.url, "/api/health", { headers: keepAlive });
  expect([health.status, health.headers.connection]).toEqual([200, "close"]);
  await using late = await greeted(server);
  late.subscribe(id, { flags: 13, from: 0 });
  late.type(id, "echo\n");
  await late.shows(/echo\r\necho/);
  expect(known.of(FrameType.GOAWAY)).toEqual([]);
  for (const socket of [known, late]) {
    const notice = decodeGoAway((await socket.frame(FrameType.GOAWAY)).payload);
    expect(notice).toEqual({ afterMs: 100, jitterMs: 4, reason: "the server is shutting down" });
    // A client that ignores the frame is closed in the end.
    expect(await socket.closed()).toEqual({ code: 1001, reason: "the server is shutting down" });
    expect(socket.of(FrameType.GOAWAY)).toHaveLength(1);
  }
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(server.log).toMatch(/draining[\s\S]*drained/);
});

test("a VibeTunnel client is closed with 1001 and receives no unknown frame", async () => {
  await using server = await TestServer.start({ asProcess: true });
  await using old = await VibeTunnelClient.open(server.url);
  const { id } = await server.client().create({ command: ["cat"] });
  old.subscribe(id, 5);
  old.type(id, "one\n");
  await old.until(() => old.text(id).includes("one\r\none"));
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  await server.restart();
  await old.until(() => old.connections === 2);
  old.type(id, "two\n");
  await old.until(() => old.text(id).includes("two\r\ntwo"));
  expect(new Set(old.frames.map(({ type }) => type))).toEqual(new Set([2, 20, 22]));
  // The WELCOME of each connection in the other byte order.
  expect(old.dropped).toBe(2);
});

test("nobody new is let in while clients are sent away: 503 shutting_down, and requests are still answered", async () => {
  await using server = await TestServer.start({ asProcess: true, args: OPEN });
  await using stays = await greeted(server);
  const ended = server.kill("SIGTERM");
  await stays.frame(FrameType.GOAWAY);
  const refusal = await RawSocket.open(server.url).then(
    () => "let in",
    (error: Error) => error.message,
  );
  expect(refusal).toMatch(/503|ECONNREFUSED|ECONNRESET|socket hang up/);
  expect(await ended).toEqual({ code: 0, signal: null });
});

test("a download that is read is finished; the server waits for it", async () => {
  await using server = await TestServer.start({ asProcess: true, args: OPEN });
  const response = await startedDownload(server);
  const ended = server.kill("SIGTERM");
  await eventually(async () => server.log.includes("draining") || undefined, "the drain");
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  expect(bytes).toBe(DOWNLOAD_BYTES);
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(server.log).not.toContain("answers broken off");
});

test("an unread download is aborted at the end of the grace period, which is logged, and the exit code is 0", async () => {
  await using server = await TestServer.start({ asProcess: true, args: [...OPEN, "--grace", "3s"] });
  const response = await startedDownload(server);
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(server.log).toContain("answers broken off: the grace period is over");
  const broken = withDeadline(once(response, "error"), PATIENCE_MS, "the end of the download");
  response.resume();
  expect((await broken)[0]).toMatchObject({ code: "ECONNRESET" });
});

test.each(["SIGTERM", "SIGINT"] as const)("%s while it drains ends it at once", async (second) => {
  await using server = await TestServer.start({ asProcess: true, args: [...OPEN, "--grace", "60s"] });
  const response = await startedDownload(server);
  const { pid } = server;
  const ended = server.kill("SIGTERM");
  await eventually(async () => server.log.includes("draining") || undefined, "the drain");
  process.kill(pid, second);
  expect(await ended).toEqual({ code: null, signal: second });
  response.destroy();
});

/** The output of an ended session, still unread by the client. */
async function startedDownload(server: TestServer): Promise<IncomingMessage> {
  const command = ["sh", "-c", `stty raw; head -c ${DOWNLOAD_BYTES} /dev/zero`];
  const { id } = await server.client().create({ command });
  await eventually(
    async () => (await server.client().get(id)).status === "exited" || undefined,
    "the end of the program",
  );
  const outgoing = request(`${server.url}/api/sessions/${id}/output`, { agent: false }).end();
  return await withDeadline(headOf(outgoing), PATIENCE_MS, "the head of the download");
}
