// The reverse proxy forwards requests completely, in order, with back-pressure, and never as two.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { NAVIGATION } from "../harness/tls-client.ts";
import { ForwardingStage } from "./forwarding-stage.ts";

const MEBIBYTE = 1024 * 1024;

/** Echoes its request. */
async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await collectBytes(request, 256 * MEBIBYTE);
  const { method, url, rawHeaders } = request;
  const sha256 = createHash("sha256").update(body).digest("hex");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ method, url, rawHeaders, length: body.length, sha256 }));
}

test("method, path, query and body arrive as they were sent", async () => {
  await using stage = await ForwardingStage.open((...both) => void echo(...both));
  const client = stage.client();
  const headers = { cookie: stage.cookie, "content-type": "text/plain" };
  for (const path of ["/", "/a/b?c=d&e=%2F%3F", "//a//b/../c/./d?", "/a%zz", "/a?b?c", "/\\[", "/a;b=c#d"]) {
    for (const method of ["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"]) {
      const body = method === "GET" || method === "OPTIONS" ? undefined : "hello";
      const visit = { method, headers, ...(body === undefined ? {} : { body }) };
      const lines = [`${method} ${path} HTTP/1.1`, "Host: $HOST", `Content-Length: ${body?.length ?? 0}`];
      const text = await stage.say(lines, body);
      const said = JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4));
      // A question mark without a query is dropped.
      expect([said.method, said.url, said.length]).toEqual([
        method,
        path.replace(/\?$/, ""),
        body?.length ?? 0,
      ]);
      if (path === "/")
        expect((await client.ask(`${stage.url}/`, visit)).json.length).toBe(body?.length ?? 0);
    }
  }
});

test("a hundred megabytes go up and come down unchanged, chunked or not", async () => {
  const bytes = randomBytes(32 * MEBIBYTE);
  await using stage = await ForwardingStage.open((request, response) => {
    if (request.method === "GET") response.end(bytes);
    else void echo(request, response);
  });
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const client = stage.client();
  const headers = { cookie: stage.cookie };
  const up = await client.ask(`${stage.url}/`, { method: "POST", headers, body: bytes });
  expect(up.json).toMatchObject({ length: bytes.length, sha256 });
  const down = await client.ask(`${stage.url}/`, { headers });
  expect(createHash("sha256").update(down.bytes).digest("hex")).toBe(sha256);
  const piece = bytes.subarray(0, MEBIBYTE).toString("hex");
  const chunked = `${piece.length.toString(16)}\r\n${piece}\r\n0\r\n\r\n`;
  const text = await stage.say(["POST / HTTP/1.1", "Host: $HOST", "Transfer-Encoding: chunked"], chunked);
  expect(text).toContain(`"length":${piece.length}`);
});

test("the body of a DELETE is a body and no other request, chunked as well", async () => {
  const seen: string[] = [];
  await using stage = await ForwardingStage.open((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    void echo(request, response);
  });
  const inner = `GET /smuggled HTTP/1.1\r\nHost: x\r\nproxy-user-login: root\r\n\r\n`;
  const chunked = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
  for (const method of ["DELETE", "OPTIONS", "GET", "POST"]) {
    const text = await stage.say(
      [`${method} /outer HTTP/1.1`, "Host: $HOST", "Transfer-Encoding: chunked"],
      chunked,
    );
    expect([method, text]).toEqual([method, expect.stringContaining(`"length":${inner.length}`)]);
  }
  // Leftover bytes on a kept connection would be read as part of the next request.
  await stage.say(["GET /after HTTP/1.1", "Host: $HOST"]);
  expect(seen).toEqual(["DELETE /outer", "OPTIONS /outer", "GET /outer", "POST /outer", "GET /after"]);
});

test.each([
  ["two hosts", ["GET / HTTP/1.1", "Host: $HOST", "Host: evil.example"]],
  ["no host", ["GET / HTTP/1.0"]],
  ["a host that is none", ["GET / HTTP/1.1", "Host: a b"]],
  ["another host in the request line", ["GET https://evil.example/ HTTP/1.1", "Host: $HOST"]],
  ["no path", ["OPTIONS * HTTP/1.1", "Host: $HOST"]],
  ["two lengths", ["POST / HTTP/1.1", "Host: $HOST", "Content-Length: 1", "Content-Length: 2"]],
  ["a length twice", ["POST / HTTP/1.1", "Host: $HOST", "Content-Length: 0", "Content-Length: 0"]],
  [
    "a length and chunks",
    ["POST / HTTP/1.1", "Host: $HOST", "Content-Length: 5", "Transfer-Encoding: chunked"],
  ],
  ["an odd coding", ["POST / HTTP/1.1", "Host: $HOST", "Transfer-Encoding: gzip, chunked"]],
  [
    "a coding that only looks like chunked",
    ["POST / HTTP/1.1", "Host: $HOST", "Transfer-Encoding: xchunked"],
  ],
  [
    "two codings",
    ["POST / HTTP/1.1", "Host: $HOST", "Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
  ],
  ["a folded header", ["GET / HTTP/1.1", "Host: $HOST", "A: b", " proxy-user-login: root"]],
  ["a space before the colon", ["GET / HTTP/1.1", "Host: $HOST", "Proxy-User-Login : root"]],
  ["a bare line feed", ["GET / HTTP/1.1", "Host: $HOST\nproxy-user-login: root"]],
  ["a zero in a header", ["GET / HTTP/1.1", "Host: $HOST", "A: b\0c"]],
])("a request with %s goes no further", async (_, lines) => {
  let count = 0;
  await using stage = await ForwardingStage.open((_request, response) => {
    count += 1;
    response.end();
  });
  const text = await stage.say(lines, lines.some((line) => line.includes("chunked")) ? "0\r\n\r\n" : "");
  // If the parser notices too late, the connection is cut.
  expect(text).toMatch(/^(?:HTTP\/1\.1 400 |$)/);
  expect(count).toBe(0);
});

test("an event stream begins before anything happens, comes event by event, and ends for both when one leaves", async () => {
  const streams: ServerResponse[] = [];
  await using stage = await ForwardingStage.open((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    streams.push(response);
  });
  const client = stage.client();
  const answer = await client.open(`${stage.url}/stream`, { headers: { cookie: stage.cookie } });
  expect(answer.headers["content-type"]).toBe("text/event-stream");
  const [stream] = streams;
  for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
    stream?.write(event);
    const [chunk] = await withDeadline(once(answer, "data"), PATIENCE_MS, "the event");
    expect(String(chunk)).toBe(event);
  }
  answer.destroy();
  if (stream?.destroyed === false)
    await withDeadline(once(stream, "close"), PATIENCE_MS, "the end of the stream");
});

test("back-pressure reaches the sender, and a client that leaves ends its request", async () => {
  let written = 0;
  const closed = Promise.withResolvers<void>();
  await using stage = await ForwardingStage.open((_, response) => {
    const more = (): void => {
      while (response.write(Buffer.alloc(64 * 1024))) written += 64 * 1024;
    };
    response.on("drain", more);
    response.once("close", closed.resolve);
    more();
  });
  const answer = await stage.client().open(`${stage.url}/`, { headers: { cookie: stage.cookie } });
  answer.pause();
  let before = -1;
  await eventually(async () => {
    const isStill = written === before;
    before = written;
    for (let count = 0; count < 100; count++) await turn();
    return isStill ? true : undefined;
  }, "the end of the writing");
  expect(written).toBeLessThan(64 * MEBIBYTE);
  answer.destroy();
  await withDeadline(closed.promise, PATIENCE_MS, "the end of the request");
});

test("an upload that its client aborts ends", async () => {
  const aborted = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await using stage = await ForwardingStage.open((request) => {
    request.once("data", () => begun.resolve());
    request.once("close", () => aborted.resolve());
    request.on("error", () => undefined);
  });
  const socket = await stage.client().raw(stage.url);
  const head = ["POST / HTTP/1.1", "Host: localhost", `Cookie: ${stage.cookie}`, "Content-Length: 1000"];
  socket.write(`${head.join("\r\n")}\r\n\r\nhello`);
  await withDeadline(begun.promise, PATIENCE_MS, "the upload");
  socket.destroy();
  await withDeadline(aborted.promise, PATIENCE_MS, "the end of the upload");
});

test("an answer that breaks off is seen to break off", async () => {
  await using stage = await ForwardingStage.open((_, response) => {
    response.writeHead(200, { "content-length": 1000 });
    response.write("hello", () => response.destroy());
  });
  const answer = await stage.client().open(`${stage.url}/`, { headers: { cookie: stage.cookie } });
  await expect(withDeadline(collectBytes(answer, 2000), PATIENCE_MS, "the answer")).rejects.toThrow(
    "aborted",
  );
});

test("hop-by-hop headers are not forwarded, repeated headers stay repeated", async () => {
  await using stage = await ForwardingStage.open((_, response) => {
    const cookies = ["Set-Cookie", "a=1", "Set-Cookie", "b=2"];
    response.writeHead(404, "Odd", [
      "Keep-Alive",
      "timeout=1",
      "Proxy-Authenticate",
      "x",
      "X-A",
      "1",
      ...cookies,
    ]);
    response.end("gone");
  });
  const { status, headers, text } = await stage
    .client()
    .ask(`${stage.url}/`, { headers: { cookie: stage.cookie } });
  expect([status, headers["x-a"], headers["set-cookie"], text]).toEqual([404, "1", ["a=1", "b=2"], "gone"]);
  expect(headers).not.toHaveProperty("proxy-authenticate");
  expect(headers["keep-alive"]).not.toBe("timeout=1");
  const head = await stage
    .client()
    .ask(`${stage.url}/`, { method: "HEAD", headers: { cookie: stage.cookie } });
  expect([head.status, head.text]).toEqual([404, ""]);
});

test("without the server behind it the proxy answers programs in JSON and people in words", async () => {
  const stage = await ForwardingStage.open((_, response) => response.end());
  await using _stage = stage;
  const headers = { cookie: stage.cookie };
  stage.upstream.close();
  stage.upstream.closeAllConnections();
  const told = await stage.client().ask(`${stage.url}/api/health`, { headers });
  expect([told.status, told.json]).toEqual([
    502,
    { error: "the server behind this proxy does not answer", code: "server_unreachable", details: {} },
  ]);
  const page = await stage.client().ask(`${stage.url}/`, { headers: { ...headers, ...NAVIGATION } });
  expect([page.status, page.headers["content-type"]]).toEqual([502, "text/html; charset=utf-8"]);
  await expect(stage.client().webSocket(stage.url, headers)).rejects.toThrow("status 502");
});

test("many requests go through one connection, one after the other", async () => {
  await using stage = await ForwardingStage.open((request, response) => response.end(request.url));
  const socket = await stage.client().raw(stage.url);
  const received = new PassThrough();
  socket.pipe(received);
  const request = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nCookie: ${stage.cookie}\r\n\r\n`;
  socket.write(Array.from({ length: 20 }, (_, index) => request(`/${index}`)).join(""));
  let text = "";
  for await (const chunk of received) {
    text += String(chunk);
    if (text.endsWith("/19")) break;
  }
  expect(text.match(/\r\n\r\n\/\d+/g)).toEqual(Array.from({ length: 20 }, (_, index) => `\r\n\r\n/${index}`));
  socket.destroy();
});

test("nobody gets to speak HTTP/2 with the server behind", async () => {
  await using stage = await ForwardingStage.open((...both) => void echo(...both));
  const upgrade = [
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    "Connection: Upgrade, HTTP2-Settings",
  ];
  const text = await stage.say(["GET / HTTP/1.1", "Host: $HOST", ...upgrade]);
  expect(text).not.toMatch(/upgrade|http2|h2c/i);
});

test("exactly the login's user is forwarded, with the secret", async () => {
  await using stage = await ForwardingStage.open((...both) => void echo(...both));
  const headers = { cookie: stage.cookie, "proxy-user-login": "root", "X-Forwarded-For": "127.0.0.1" };
  const { rawHeaders } = (await stage.client().ask(`${stage.url}/`, { headers })).json;
  const pairs = Array.from({ length: rawHeaders.length / 2 }, (_, index) =>
    rawHeaders.slice(2 * index, 2 * index + 2),
  );
  const said = Object.fromEntries(
    pairs.filter(([name]: string[]) => /proxy|forwarded|cookie/i.test(name ?? "")),
  );
  expect(said).toEqual({
    ...{ "proxy-user-login": "ada", "proxy-user-proof": "the proof of this start" },
    ...{
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "https",
      "x-forwarded-host": new URL(stage.url).host,
    },
  });
});
