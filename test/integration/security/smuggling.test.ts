// Requests that a proxy in front and this server could read differently (RFC 9112, 11).
import { afterAll, beforeAll, expect, test } from "vitest";
import { PASSWORD, passwordServer } from "../harness/password-server.ts";
import { openConnection, rawRequest, sendRaw, untilClosed } from "../harness/raw-request.ts";
import type { TestServer } from "../harness/test-server.ts";

let server: TestServer;
let host: string;
beforeAll(async () => {
  server = await passwordServer("inline");
  ({ host } = new URL(server.url));
});
afterAll(() => server[Symbol.asyncDispose]());

/** A request hidden behind another: answered with 200 if it is taken for one. */
const hidden = (): string => rawRequest(server.url, "/livez");
const post = (headers: readonly string[], body: string): string =>
  `${[`POST /api/auth/token HTTP/1.1`, `Host: ${host}`, ...headers].join("\r\n")}\r\n\r\n${body}`;

const CHUNKED_NOTHING = "0\r\n\r\n";

test.each<[about: string, headers: readonly string[], body: string]>([
  ["a length and chunks", ["Content-Length: 5", "Transfer-Encoding: chunked"], CHUNKED_NOTHING],
  ["chunks and a length", ["Transfer-Encoding: chunked", "Content-Length: 5"], CHUNKED_NOTHING],
  ["two lengths", ["Content-Length: 2", "Content-Length: 40"], "{}"],
  ["one length, twice", ["Content-Length: 2", "Content-Length: 2"], "{}"],
  ["a list of lengths", ["Content-Length: 2, 2"], "{}"],
  ["a length with a sign", ["Content-Length: +2"], "{}"],
  ["a length below zero", ["Content-Length: -2"], "{}"],
  ["a length in hex", ["Content-Length: 0x2"], "{}"],
  ["a length of two words", ["Content-Length: 2 2"], "{}"],
  ["an empty length", ["Content-Length:"], "{}"],
  ["a length that no number holds", ["Content-Length: 99999999999999999999999"], "{}"],
  ["a space before the colon", ["Content-Length : 2"], "{}"],
  ["a coding that nobody knows", ["Transfer-Encoding: xchunked"], CHUNKED_NOTHING],
  ["a coding in quotes", ['Transfer-Encoding: "chunked"'], CHUNKED_NOTHING],
  ["a coding behind a vertical tab", ["Transfer-Encoding: \u000bchunked"], CHUNKED_NOTHING],
  ["a coding on the next line", ["Transfer-Encoding:\r\n chunked"], CHUNKED_NOTHING],
  ["chunks that are no longer chunks", ["Transfer-Encoding: chunked, identity"], CHUNKED_NOTHING],
  ["chunks of something packed", ["Transfer-Encoding: gzip, chunked"], CHUNKED_NOTHING],
  ["two codings", ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"], CHUNKED_NOTHING],
  ["the same coding twice", ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], CHUNKED_NOTHING],
  ["a line that goes on", ["X: a\r\n b", "Content-Length: 2"], "{}"],
  ["a line end without its line feed", ["X: a\rContent-Length: 2"], "{}"],
  ["a NUL in a header", ["X: a\0b", "Content-Length: 2"], "{}"],
  ["a header without a colon", ["X", "Content-Length: 2"], "{}"],
  ["a header without a name", [": x", "Content-Length: 2"], "{}"],
])("a request with %s is refused, and what follows is not answered", async (_, headers, body) => {
  const { statuses, code } = await sendRaw(server.url, `${post(headers, body)}${hidden()}`);
  expect([statuses, code]).toEqual([[400], "invalid_request"]);
});

test.each([
  ["a size in another spelling", "0x2\r\n{}\r\n0\r\n\r\n"],
  ["a size below zero", "-2\r\n{}\r\n0\r\n\r\n"],
  ["a size that no number holds", "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"],
  ["a size that is too small", "1\r\n{}\r\n0\r\n\r\n"],
  ["line feeds alone", "2\n{}\n0\n\n"],
  ["an extension that ends in a line feed", "2;a\n{}\r\n0\r\n\r\n"],
])("chunks with %s end the connection, and what follows is not answered", async (_, body) => {
  const { statuses } = await sendRaw(server.url, `${post(["Transfer-Encoding: chunked"], body)}${hidden()}`);
  expect(statuses.filter((status) => status < 400)).toEqual([]);
});

test("lines that end in a line feed alone are no request", async () => {
  const { statuses } = await sendRaw(server.url, `GET /livez HTTP/1.1\nHost: ${host}\n\n${hidden()}`);
  expect(statuses).toEqual([400]);
});

test("trailers of a chunked body do not change the request", async () => {
  const body = JSON.stringify({ password: "wrong" });
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
  const trailer = "Host: evil.example\r\nOrigin: https://evil.example\r\n\r\n";
  const text = post(["Transfer-Encoding: chunked", "Trailer: Host"], `${chunk}0\r\n${trailer}`);
  const { statuses } = await sendRaw(server.url, `${text}${hidden()}`);
  expect(statuses).toEqual([401, 200]);
});

test("an unexpected body is not taken for a request", async () => {
  const inner = hidden();
  const text = `GET /livez HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
  const { statuses } = await sendRaw(server.url, `${text}${rawRequest(server.url, "/nothing")}`);
  expect(statuses).toEqual([200, 404]);
});

test.each<[about: string, target: string, headers: readonly string[]]>([
  ["two hosts", "/livez", ["Host: evil.example"]],
  ["the same host twice", "/livez", []],
  ["two origins", "/livez", ["Origin: https://a.example", "Origin: https://b.example"]],
  ["two logins", "/livez", ["Authorization: Bearer a", "Authorization: Bearer b"]],
  ["another host in its address", "http://evil.example/livez", []],
  ["another scheme in its address", "ftp://evil.example/livez", []],
  ["a user in its address", "http://ada@evil.example/livez", []],
])("a request with %s is refused, and so is what follows", async (about, target, headers) => {
  const twice = about === "the same host twice" ? [`Host: ${host}`] : headers;
  const head = [`GET ${target} HTTP/1.1`, `Host: ${host}`, ...twice].join("\r\n");
  const { statuses, code } = await sendRaw(server.url, `${head}\r\n\r\n${hidden()}`);
  expect([statuses, code]).toEqual([[400], "invalid_request"]);
});

test.each(["a b", "evil.example/x", "ada@evil.example", "[::1", "a:99999", "a,b", "\u00e9"])(
  "a Host that is no host is refused: %j",
  async (odd) => {
    const { statuses, code } = await sendRaw(server.url, `GET /livez HTTP/1.1\r\nHost: ${odd}\r\n\r\n`);
    expect([statuses, code]).toEqual([[400], "invalid_request"]);
  },
);

test("a request without a Host is refused, but for HTTP/1.0; HTTP/0.9 and HTTP/2 are not spoken", async () => {
  const statusesOf = async (text: string) => (await sendRaw(server.url, text)).statuses;
  expect(await statusesOf("GET /livez HTTP/1.1\r\n\r\n")).toEqual([400]);
  expect(await statusesOf("GET /livez HTTP/1.0\r\n\r\n")).toEqual([200]);
  expect(await statusesOf("GET /livez\r\n\r\n")).toEqual([400]);
  expect(await statusesOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")).toEqual([400]);
});

test("an address with the server's own host in it is that of its path", async () => {
  const { statuses } = await sendRaw(server.url, rawRequest(server.url, `http://${host}/livez`));
  expect(statuses).toEqual([200]);
});

test("an upgrade to HTTP/2 is ignored, and the request with its body is answered", async () => {
  const wish = [
    "Connection: close, Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAAQAAP__",
  ];
  const body = JSON.stringify({ password: PASSWORD });
  const text = post([...wish, `Content-Length: ${body.length}`], body);
  const { statuses } = await sendRaw(server.url, text);
  expect(statuses).toEqual([200]);
});

test("a handshake is for /ws alone, spelt like that, and a GET", async () => {
  const handshake = [
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  const shake = async (line: string): Promise<number | undefined> => {
    const head = [`${line} HTTP/1.1`, `Host: ${host}`, "Connection: Upgrade", ...handshake].join("\r\n");
    const { statuses } = await sendRaw(server.url, `${head}\r\n\r\n${hidden()}`);
    expect(statuses).toHaveLength(1);
    return statuses[0];
  };
  expect(await shake("GET /ws")).toBe(401);
  for (const target of [
    "//ws",
    "//evil.example/ws",
    "/ws/",
    "/WS",
    "/%77s",
    "/api/../ws",
    `http://${host}/ws`,
  ])
    expect([target, await shake(`GET ${target}`)]).toEqual([target, 404]);
  expect(await shake("POST /ws")).toBe(405);
});

test("a tunnel is not opened", async () => {
  const { statuses } = await sendRaw(
    server.url,
    `CONNECT evil.example:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  );
  expect(statuses.filter((status) => status < 400)).toEqual([]);
});

test("a thousand requests at once on one connection are answered one after the other, in their order", async () => {
  const socket = await openConnection(server.url);
  const paths = Array.from({ length: 1_000 }, (_, index) => (index % 2 === 0 ? "/livez" : "/nothing"));
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  socket.write(`${requests.join("")}${hidden()}`);
  const { statuses } = await untilClosed(socket);
  expect(statuses).toEqual([...paths.map((path) => (path === "/livez" ? 200 : 404)), 200]);
});
