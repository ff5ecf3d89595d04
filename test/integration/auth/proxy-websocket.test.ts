// WebSockets through the reverse proxy: unchanged, until either side closes.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { bestTime } from "../harness/best-time.ts";
import { HashingViewer } from "../harness/hashing-viewer.ts";
import { PacedProgram } from "../harness/paced-program.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { ForwardingStage } from "./forwarding-stage.ts";
import { OidcStage } from "./oidc-stage.ts";

const OUT_WITHIN_MS = 1_000;
const STREAM_TIMEOUT_MS = 100_000;
const LINES = 200_000;
const AS_FAST_AS_IT_CAN = 1_000_000_000;

const scope = new AsyncDisposableStack();
const echo = new WebSocketServer({ noServer: true, perMessageDeflate: false });
let stage: ForwardingStage;

beforeAll(async () => {
  stage = scope.use(await ForwardingStage.open((_, response) => response.writeHead(426).end("no WebSocket")));
  stage.upstream.on("upgrade", (request, socket, head) => {
    if (request.url === "/refused") {
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
      return;
    }
    echo.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on("message", (data, isBinary) => webSocket.send(data, { binary: isBinary }));
      if (request.url === "/once") webSocket.close(4000, "that was it");
    });
  });
});
afterAll(() => scope.disposeAsync());

function open(path = "/ws"): Promise<WebSocket> {
  return stage.client().webSocket(stage.url, { cookie: stage.cookie }, path);
}

async function peer(): Promise<WebSocket> {
  const [any] = [...echo.clients].slice(-1);
  if (any === undefined) throw new Error("nobody is connected");
  return any;
}

test("messages of every size come back as they were, in order", async () => {
  const socket = await open();
  for (const size of [0, 1, 125, 126, 65_535, 65_536, 5_000_000]) {
    const message = randomBytes(size);
    const answered = once(socket, "message");
    socket.send(message);
    const [data] = await withDeadline(answered, PATIENCE_MS, "the message");
    expect(Buffer.compare(data, message)).toBe(0);
  }
  socket.terminate();
});

test("data right after the handshake is not lost, nor is the close code", async () => {
  const [code, reason] = await withDeadline(once(await open("/once"), "close"), PATIENCE_MS, "the close");
  expect([code, String(reason)]).toEqual([4000, "that was it"]);
});

test("a close on either side is a close on the other", async () => {
  const first = await open();
  const server = await peer();
  first.close(4001, "enough");
  const [code, reason] = await withDeadline(once(server, "close"), PATIENCE_MS, "the close");
  expect([code, String(reason)]).toEqual([4001, "enough"]);
  const second = await open();
  const other = await peer();
  second.terminate();
  await withDeadline(once(other, "close"), PATIENCE_MS, "the end");
  const third = await open();
  (await peer()).terminate();
  const [abnormal] = await withDeadline(once(third, "close"), PATIENCE_MS, "the end");
  expect(abnormal).toBe(1006);
});

test("a refusal of the server is shown in its own words", async () => {
  await expect(open("/refused")).rejects.toThrow("status 403");
});

test.each([
  ["another method", ["POST /ws HTTP/1.1", "Host: $HOST", "Upgrade: websocket"]],
  ["a body", ["GET /ws HTTP/1.1", "Host: $HOST", "Upgrade: websocket", "Content-Length: 5"]],
  ["two hosts", ["GET /ws HTTP/1.1", "Host: $HOST", "Host: x", "Upgrade: websocket"]],
])("an upgrade with %s goes no further", async (_, lines) => {
  const socket = await stage.client().raw(stage.url);
  const head = lines.map((line) => line.replace("$HOST", "localhost"));
  socket.write(`${[...head, "Connection: Upgrade", `Cookie: ${stage.cookie}`].join("\r\n")}\r\n\r\n`);
  const [answer] = await withDeadline(once(socket, "data"), PATIENCE_MS, "the answer");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
  socket.destroy();
});

test("without a login there is no WebSocket, and a login that ends takes its own along within a second", async () => {
  await expect(stage.client().webSocket(stage.url)).rejects.toThrow("status 401");
  const user = { login: "grace", name: undefined, picture: undefined };
  const answer = { subject: "2", user, idToken: undefined, refreshToken: undefined, validForMs: 3_600_000 };
  const adas = await open();
  const closed = async (): Promise<number> => {
    const cookie = await stage.logins.begin(answer);
    const graces = await stage.client().webSocket(stage.url, { cookie: `__Host-ttyhq-login=${cookie}` });
    const end = once(graces, "close");
    const started = performance.now();
    await stage.logins.end(cookie);
    await withDeadline(end, PATIENCE_MS, "the close");
    return performance.now() - started;
  };
  expect(await bestTime(OUT_WITHIN_MS, closed)).toBeLessThan(OUT_WITHIN_MS);
  expect(adas.readyState).toBe(adas.OPEN);
  adas.terminate();
});

test("when the proxy is told to go, nobody new is let in", async () => {
  await using other = await ForwardingStage.open((_, response) => response.end());
  other.proxy.upgrade.close();
  await expect(other.client().webSocket(other.url, { cookie: other.cookie })).rejects.toThrow("status 503");
});

test("a program's output arrives whole and in order, however fast it comes", async () => {
  await using oidc = await OidcStage.open({
    args: () => ["--proxy-oidc-claim", "preferred_username", "--allow-user", "server"],
  });
  const { origin, provider, authority } = oidc;
  // The server's own user.
  provider.person = { sub: "1", preferred_username: "server" };
  const client = oidc.browser();
  await oidc.logIn(client);
  const cookie = [...client.cookies(origin)].map((pair) => pair.join("=")).join("; ");
  const ca = new TextEncoder().encode(authority.cert);
  await using program = await PacedProgram.prepare(LINES, AS_FAST_AS_IT_CAN);
  const body = JSON.stringify({ command: program.command });
  const headers = { "content-type": "application/json", origin };
  const made = await client.ask(`${origin}/api/sessions`, { method: "POST", headers, body });
  const { id } = SessionRecord.parse(made.json);
  using viewer = new HashingViewer(origin, id, { headers: { cookie, origin }, ca });
  program.waitFor([viewer]);
  const seen = await withDeadline(viewer.ended, STREAM_TIMEOUT_MS, "the end of the stream");
  expect(seen).toEqual(program.expected);
});
