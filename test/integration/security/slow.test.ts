// Deliberately slow clients, many connections, and oversized requests: they keep nobody else out.
import { once } from "node:events";
import type { Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { Listener } from "../../../src/http/listener.ts";
import { noUpgrade } from "../../../src/http/upgrade.ts";
import { bestTime } from "../harness/best-time.ts";
import { ask } from "../harness/http.ts";
import { passwordServer } from "../harness/password-server.ts";
import { openFiles } from "../harness/processes.ts";
import { openConnection, rawRequest, sendRaw, untilClosed } from "../harness/raw-request.ts";
import type { TestServer } from "../harness/test-server.ts";

let server: TestServer;
let host: string;
beforeAll(async () => {
  server = await passwordServer("inline", { asProcess: true });
  ({ host } = new URL(server.url));
});
afterAll(() => server[Symbol.asyncDispose]());

const HEAD_MS = 10_000;
const REQUEST_MS = 30_000;
/** The interval of the server's check, and the tolerance for a busy machine. */
const LATE_MS = 10_000;

/** Including the time until the server had closed it. */
async function closeOf(socket: Socket, started: number) {
  const answer = await untilClosed(socket, REQUEST_MS + 2 * LATE_MS);
  return { ...answer, ms: performance.now() - started };
}

/** Writes a little, repeatedly, until the connection ends. */
function drip(socket: Socket, text: string, everyMs: number): void {
  const timer = setInterval(() => void (socket.writable && socket.write(text)), everyMs);
  socket.once("close", () => clearInterval(timer));
}

test("a slow head is cut off after 10 s, a slow body after 30 s, and a silent connection is closed without an answer", async () => {
  const started = performance.now();
  const [silent, head, body, chunks, second] = await Promise.all(
    Array.from({ length: 5 }, () => openConnection(server.url)),
  );
  if (!silent || !head || !body || !chunks || !second) throw new Error("not connected");
  head.write(`GET /livez HTTP/1.1\r\nHost: ${host}\r\n`);
  drip(head, "X-A: b\r\n", 500);
  const post = `POST /api/auth/token HTTP/1.1\r\nHost: ${host}\r\n`;
  body.write(`${post}Content-Length: 1000\r\n\r\n{`);
  drip(body, " ", 500);
  chunks.write(`${post}Transfer-Encoding: chunked\r\n\r\n`);
  drip(chunks, "1\r\n \r\n", 500);
  // Not the first request of its connection.
  second.write(`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\nGET /livez HTTP/1.1\r\n`);
  drip(second, "X-A: b\r\n", 500);
  const closes = await Promise.all(
    [silent, head, body, chunks, second].map((socket) => closeOf(socket, started)),
  );
  expect(closes.map(({ statuses, code }) => [statuses, code])).toEqual([
    [[], undefined],
    [[408], "request_timeout"],
    [[408], "request_timeout"],
    [[408], "request_timeout"],
    [[200, 408], "request_timeout"],
  ]);
  const limits = [HEAD_MS, HEAD_MS, REQUEST_MS, REQUEST_MS, HEAD_MS];
  for (const [index, { ms }] of closes.entries()) {
    expect(ms).toBeGreaterThan(limits[index] ?? 0);
    expect(ms).toBeLessThan((limits[index] ?? 0) + LATE_MS);
  }
});

test("a thousand slow connections from one address keep nobody else waiting, and leave nothing behind", async () => {
  const before = openFiles(server.pid);
  const sockets = await Promise.all(Array.from({ length: 1_000 }, () => openConnection(server.url)));
  for (const socket of sockets) socket.write(`GET /livez HTTP/1.1\r\nHost: ${host}\r\n`);
  const longest = async (): Promise<number> => {
    const times: number[] = [];
    for (let count = 0; count < 20; count++) {
      const started = performance.now();
      expect((await ask(server.url, "/api/health")).status).toBe(200);
      times.push(performance.now() - started);
    }
    return Math.max(...times);
  };
  expect(await bestTime(1_000, longest)).toBeLessThan(1_000);
  await Promise.all(sockets.map((socket) => untilClosed(socket, HEAD_MS + 2 * LATE_MS)));
  // It closes its end once it has seen the client's close.
  await until(() => openFiles(server.pid) < before + 20);
});

test.each([
  ["by its length", (size: number) => `Content-Length: ${size}\r\n\r\n${"x".repeat(size)}`],
  [
    "in chunks",
    (size: number) =>
      `Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${"x".repeat(size)}\r\n0\r\n\r\n`,
  ],
])("a body over 1 MiB is refused, told %s", async (_, body) => {
  const post = `POST /api/auth/token HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n`;
  const { statuses, code } = await sendRaw(server.url, `${post}${body(1024 * 1024 + 1)}`);
  expect([statuses, code]).toEqual([[413], "body_too_large"]);
});

test("an announced body of gigabytes is refused before it arrives", async () => {
  const socket = await openConnection(server.url);
  socket.write(
    `POST /api/auth/token HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 9999999999\r\n\r\n{`,
  );
  const { statuses, code } = await untilClosed(socket);
  expect([statuses, code]).toEqual([[413], "body_too_large"]);
});

test("heads that are too long, or of too many headers, are refused", async () => {
  const refusals = [
    rawRequest(server.url, `/${"x".repeat(17_000)}`),
    rawRequest(server.url, "/livez", [`X: ${"x".repeat(17_000)}`]),
    rawRequest(server.url, "/livez", Array(300).fill("a: b")),
    rawRequest(server.url, "/livez", Array(3_000).fill("a:")),
  ];
  for (const text of refusals) {
    const { statuses, code } = await sendRaw(server.url, text);
    expect([statuses, code]).toEqual([[431], "headers_too_large"]);
  }
  const { statuses } = await sendRaw(server.url, rawRequest(server.url, "/livez", Array(200).fill("a: b")));
  expect(statuses).toEqual([200]);
});

test("deeply nested JSON is refused, at the login as on an HQ", async () => {
  const objects = `${'{"a":'.repeat(150_000)}1${"}".repeat(150_000)}`;
  // The maximum without a login.
  for (const body of [
    `${"[".repeat(8_000)}${"]".repeat(8_000)}`,
    `${'{"a":'.repeat(2_500)}1${"}".repeat(2_500)}`,
  ]) {
    const { status, json } = await ask(server.url, "/api/auth/token", { body });
    expect([status, json.code]).toEqual([400, "invalid_request"]);
  }
  await using hq = await passwordServer("inline", { asProcess: true, args: ["--hq"] });
  const { json } = await ask(hq.url, "/api/auth/token", { body: { password: "correct horse" } });
  const headers = { authorization: `Bearer ${json.token}` };
  const sent = await ask(hq.url, "/api/remotes/x/proxy/sessions/a/input", { headers, body: objects });
  expect([sent.status, sent.json.code]).toEqual([400, "invalid_request"]);
  expect(hq.log).not.toContain("request failed");
});

/** A listener of this process, with limits that a test can reach. */
async function listenerWith(limits: Parameters<typeof Listener.open>[3]) {
  let answering = 0;
  const flood = Buffer.alloc(1024 * 1024);
  const listener = await Listener.open(
    { host: "127.0.0.1", port: 0 },
    {
      request: ({ url }, response) => {
        answering += 1;
        response.once("close", () => {
          answering -= 1;
        });
        if (url === "/quick") response.end("ok");
        if (url === "/stream") response.write("begun");
        if (url !== "/flood") return;
        const pour = (): void =>
          void (response.write(flood) ? setImmediate(pour) : response.once("drain", pour));
        pour();
      },
      upgrade: noUpgrade,
    },
    undefined,
    limits,
  );
  const url = `http://127.0.0.1:${listener.port}`;
  return { url, count: () => answering, [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose]() };
}

test("over the limit of unfinished requests the oldest unfinished head or body makes room", async () => {
  await using listener = await listenerWith({ maxUnfinished: 10 });
  const sockets: Socket[] = [];
  const left = () => sockets.filter(({ closed }) => !closed).length;
  for (let count = 0; count < 30; count++) {
    const socket = await openConnection(listener.url);
    if (count % 2 === 1) socket.write("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{");
    sockets.push(socket.resume());
  }
  await until(() => left() <= 10);
  // Neither the newest connection nor clients with timely requests wait for them.
  expect(sockets.at(-1)?.closed).toBe(false);
  for (let count = 0; count < 5; count++) {
    const quick = await openConnection(listener.url);
    quick.write(rawRequest(listener.url, "/quick"));
    expect((await untilClosed(quick)).statuses).toEqual([200]);
  }
  expect(left()).toBeGreaterThan(4);
  for (const socket of sockets) socket.destroy();
});

test("an unread answer is aborted; an idle one is not", async () => {
  await using listener = await listenerWith({ stalledAnswerMs: 300 });
  const [stalled, quiet] = await Promise.all([openConnection(listener.url), openConnection(listener.url)]);
  stalled.pause();
  quiet.resume();
  stalled.write(rawRequest(listener.url, "/flood"));
  quiet.write(rawRequest(listener.url, "/stream"));
  await once(quiet, "data");
  await until(() => listener.count() === 1);
  expect(quiet.closed).toBe(false);
  stalled.destroy();
  quiet.destroy();
});

test("many connections displace idle ones, and over the limit new ones are refused", async () => {
  await using listener = await listenerWith({ crowdedConnections: 60, maxConnections: 100 });
  const idle: Socket[] = [];
  for (let count = 0; count < 63; count++) {
    const socket = await openConnection(listener.url);
    socket.write("GET /quick HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(socket, "data");
    idle.push(socket);
  }
  expect(idle.map(({ closed }) => closed)).not.toContain(true);
  const busy = [await openConnection(listener.url)];
  await Promise.all(idle.map((socket) => untilClosed(socket)));
  while (busy.length < 100) busy.push(await openConnection(listener.url));
  expect((await untilClosed(await openConnection(listener.url))).text).toBe("");
  for (const socket of busy) socket.destroy();
});

/** Polls conditions without events. */
async function until(isSo: () => boolean): Promise<void> {
  await eventually(async () => isSo() || undefined, "it");
}
