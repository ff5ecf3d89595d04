import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server as HttpServer } from "node:http";
import { createServer as createRawServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import type { Link, LinkClose } from "../../../src/protocol/client/link.ts";
import { openLink } from "../../../src/remote/uplink.ts";

/** RFC 6455, 1.3. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** The answer that accepts a handshake. */
function headFor(request: Buffer): Buffer {
  const key = /^sec-websocket-key: (.*)\r$/im.exec(request.toString())?.[1];
  const accept = createHash("sha1").update(`${key}${GUID}`).digest("base64");
  const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}`;
  return Buffer.from(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n\r\n`);
}

let folder = "";
let socketPath = "";
let stack: AsyncDisposableStack;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "link-"));
  socketPath = join(folder, "host.sock");
  stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true }));
});
afterEach(() => stack.disposeAsync());

/** A link, all that it received, and its end. */
async function opened(): Promise<{ link: Link; messages: Uint8Array[]; closed: Promise<LinkClose> }> {
  const messages: Uint8Array[] = [];
  const { promise: closed, resolve: onClose } = Promise.withResolvers<LinkClose>();
  const onMessage = (message: Uint8Array): void => void messages.push(message);
  const link = await openLink({ socketPath, noFollow: true }, { onMessage, onClose }, signal());
  stack.defer(() => link.close());
  return { link, messages, closed };
}

function signal(): AbortSignal {
  return new AbortController().signal;
}

/** Answers every connection by `serve`, which gets it once the client has asked for something. */
async function listen(serve: (socket: Socket, request: Buffer) => void): Promise<void> {
  const server = createRawServer((socket) => {
    stack.defer(() => void socket.destroy());
    socket.once("data", (request) => serve(socket, request));
    socket.on("error", () => undefined);
  });
  stack.defer(() => void server.close());
  await once(server.listen(socketPath), "listening");
}

async function webSockets(): Promise<WebSocketServer> {
  const http: HttpServer = createServer();
  const sockets = new WebSocketServer({ server: http, path: "/ws" });
  stack.defer(() => {
    for (const client of sockets.clients) client.terminate();
    http.close();
  });
  await once(http.listen(socketPath), "listening");
  return sockets;
}

function frame(payload: Uint8Array, first = 0x82): Buffer {
  const { length } = payload;
  const size = Buffer.alloc(length < 126 ? 1 : length < 65_536 ? 3 : 9);
  if (length < 126) size[0] = length;
  else if (length < 65_536) size.writeUInt16BE(length, size.writeUInt8(126));
  else size.writeBigUInt64BE(BigInt(length), size.writeUInt8(127));
  return Buffer.concat([Buffer.of(first), size, payload]);
}

function filled(length: number): Buffer {
  return Buffer.alloc(length, Buffer.from(Array.from({ length: 251 }, (_, index) => index)));
}

test("messages of all sizes come and go whole, in order", async () => {
  const lengths = [0, 1, 125, 126, 65_535, 65_536, 300_000, 3, 1_000_000, 5];
  const sockets = await webSockets();
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(data)));
  const { link, messages, closed } = await opened();
  for (const length of lengths) link.send(filled(length));
  await expect.poll(() => messages.length).toBe(lengths.length);
  const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
  expect(messages.map(hash)).toEqual(lengths.map((length) => hash(filled(length))));
  link.close();
  expect(await closed).toMatchObject({ code: 1000 });
});

test("messages that arrive byte by byte, with the handshake or cut anywhere, are complete", async () => {
  const frames = [filled(3), filled(200), Buffer.alloc(0), filled(70)].map((payload) => frame(payload));
  const send = (socket: Socket, bytes: Buffer): void => {
    if (bytes.length > 0) socket.write(bytes.subarray(0, 1), () => send(socket, bytes.subarray(1)));
  };
  await listen((socket, request) => send(socket, Buffer.concat([headFor(request), ...frames])));
  const { messages } = await opened();
  await expect.poll(() => messages.map((message) => message.length)).toEqual([3, 200, 0, 70]);
  expect(Buffer.concat(messages)).toEqual(Buffer.concat([filled(3), filled(200), filled(70)]));
});

test("a received message does not change while more arrive", async () => {
  await listen((socket, request) => {
    socket.write(Buffer.concat([headFor(request), frame(Buffer.alloc(100_000, 1))]));
    socket.once("data", () => socket.write(frame(Buffer.alloc(100_000, 2))));
  });
  const { link, messages } = await opened();
  await expect.poll(() => messages.length).toBe(1);
  link.send(Buffer.of(1));
  await expect.poll(() => messages.length).toBe(2);
  expect(messages.map((message) => new Set(message))).toEqual([new Set([1]), new Set([2])]);
});

test("messages that come with the answer to the handshake wait until the caller has the link", async () => {
  let link: Link | undefined;
  const got = Promise.withResolvers<boolean>();
  const handlers = { onMessage: () => got.resolve(link !== undefined), onClose: () => undefined };
  await listen((socket, request) => socket.write(Buffer.concat([headFor(request), frame(filled(3))])));
  link = await openLink({ socketPath }, handlers, signal());
  stack.defer(() => link?.close());
  expect(await got.promise).toBe(true);
});

test("a ping is answered, and text is not passed on", async () => {
  const sockets = await webSockets();
  const connected = once(sockets, "connection");
  const { messages } = await opened();
  const [socket] = await connected;
  socket.send("text");
  socket.ping("now");
  const [data] = await once(socket, "pong");
  expect(`${data}`).toBe("now");
  expect(messages).toEqual([]);
});

test("the close of the other side is reported with its code and reason", async () => {
  const sockets = await webSockets();
  sockets.on("connection", (socket) => socket.close(1001, "going away"));
  const { closed } = await opened();
  expect(await closed).toEqual({ code: 1001, text: "going away" });
});

test.each([
  ["a compressed message", frame(filled(3), 0xc2), /Invalid WebSocket frame/],
  ["a masked message", Buffer.of(0x82, 0x81, 0, 0, 0, 0, 1), /Invalid WebSocket frame/],
  ["a message that is too long", Buffer.of(0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0), /Max payload size exceeded/],
])("%s ends the link", async (_, bytes, text) => {
  await listen((socket, request) => socket.write(Buffer.concat([headFor(request), bytes])));
  const { closed } = await opened();
  expect(await closed).toMatchObject({ code: 1006, text: expect.stringMatching(text) });
});

test("a refusal is reported with its code", async () => {
  const body = '{"error":"no room","code":"rate_limited","details":{}}';
  const head = `HTTP/1.1 429 Too Many Requests\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  await listen((socket) => socket.end(head + body));
  await expect(opened()).rejects.toMatchObject({ code: "rate_limited", message: "no room" });
});

test("a socket that does not exist, or closes before it answers, is unreachable", async () => {
  await expect(opened()).rejects.toMatchObject({ code: "host_unreachable" });
  await listen((socket) => socket.end());
  await expect(opened()).rejects.toMatchObject({ code: "host_unreachable" });
});

test("an aborted attempt closes its connection", async () => {
  const giveUp = new AbortController();
  const ended = Promise.withResolvers<void>();
  await listen((socket) => {
    socket.once("close", () => ended.resolve());
    socket.resume();
    giveUp.abort();
  });
  const handlers = { onMessage: () => {}, onClose: () => {} };
  const link = openLink({ socketPath }, handlers, giveUp.signal);
  await expect(link).rejects.toMatchObject({ message: "the attempt to connect was aborted" });
  await ended.promise;
});

test("an attempt that is already aborted does not connect", async () => {
  const handlers = { onMessage: () => {}, onClose: () => {} };
  const link = openLink({ socketPath }, handlers, AbortSignal.abort());
  await expect(link).rejects.toMatchObject({
    code: "host_unreachable",
    message: "the attempt to connect was aborted",
  });
});
