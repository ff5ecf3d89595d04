import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { sendError } from "../../../src/http/reply.ts";
import { discardBody, readJsonBody } from "../../../src/http/request-body.ts";
import { MAX_BODY_BYTES, MAX_BODY_VALUES } from "../../../src/protocol/limits.ts";

const LIMIT = 100;

/** Answers with the JSON of a body, or with the error. */
async function serve(limit = LIMIT) {
  const server = createServer((incoming, response) => {
    readJsonBody(incoming, limit).then(
      (body) => response.end(JSON.stringify({ body })),
      (error: unknown) => sendError(response, error, discardBody(incoming)),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server does not listen");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    server,
    port: address.port,
    post: async (body: string, headers: Record<string, string> = {}) => {
      const outgoing = request({ port: address.port, method: "POST", headers, agent });
      outgoing.on("error", () => {});
      outgoing.end(body);
      const [response] = await once(outgoing, "response");
      let text = "";
      for await (const piece of response) text += piece;
      return JSON.parse(text);
    },
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const CHUNKED = { "transfer-encoding": "chunked" };

test("a body is JSON, whatever its content type says, and may be missing", async () => {
  await using own = await serve();
  expect(await own.post('{"a":[1]}', { "content-type": "text/plain" })).toEqual({ body: { a: [1] } });
  expect(await own.post("\ufeff7", CHUNKED)).toEqual({ body: 7 });
  for (const headers of [{}, CHUNKED]) expect(await own.post("", headers)).toEqual({});
});

test("a body of many values is refused, because checking each could keep the server busy for seconds", async () => {
  await using own = await serve(MAX_BODY_BYTES);
  const values = (count: number): string => JSON.stringify({ scope: Array(count - 2).fill(1) });
  expect(await own.post(values(MAX_BODY_VALUES))).toHaveProperty("body.scope");
  expect(await own.post(values(MAX_BODY_VALUES + 1))).toMatchObject({
    code: "invalid_request",
    error: `the body is longer than ${MAX_BODY_VALUES} values`,
  });
  expect(await own.post(values(500_000))).toMatchObject({ code: "invalid_request" });
});

test("a body that is not JSON, too large or compressed is refused, and the connection stays open", async () => {
  await using own = await serve();
  const long = JSON.stringify("x".repeat(300_000));
  expect(await own.post("{")).toMatchObject({ code: "invalid_json" });
  for (const headers of [{}, CHUNKED])
    expect(await own.post(long, headers)).toMatchObject({ code: "body_too_large" });
  expect(await own.post("7", { "content-encoding": "gzip" })).toMatchObject({ code: "invalid_request" });
  expect(await own.post("7")).toEqual({ body: 7 });
});

test("the rest of a refused body is read slowly", async () => {
  const size = 16 * 1024 * 1024;
  for (const headers of [{ "content-length": `${size}` }, CHUNKED]) {
    await using own = await serve();
    const [answer, [socket]] = await Promise.all([
      own.post("x".repeat(size), headers),
      once(own.server, "connection"),
    ]);
    expect(answer).toMatchObject({ code: "body_too_large" });
    expect(socket.bytesRead).toBeLessThan(size / 2);
  }
});

/** More than the kernel buffers of a connection. */
const SIZE = 10_000_000;

/** Connects and sends a request with `Connection: close`, and the first `sent` bytes of its body. */
async function postAndClose(port: number, length: number, sent: number) {
  const socket = connect({ port }).pause();
  await once(socket, "connect");
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`);
  const written = Promise.withResolvers<void>();
  socket.write("x".repeat(sent), (error) => (error ? written.reject(error) : written.resolve()));
  return { socket, written: written.promise };
}

test("a client that reads only after it has sent everything receives the refusal of its last request", async () => {
  await using own = await serve();
  const { socket, written } = await postAndClose(own.port, SIZE, SIZE);
  await written;
  const text = (await buffer(socket)).toString();
  expect(text).toMatch(/^HTTP\/1\.1 413 .*"body_too_large"/s);
});

test("a client is not taken for silent because this process stands still", async () => {
  await using own = await serve();
  const asked = once(own.server, "request");
  const { socket, written } = await postAndClose(own.port, SIZE, SIZE);
  const [incoming] = await asked;
  await once(incoming, "data");
  // Longer than a client may be silent. What it has sent waits in the kernel.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
  await written;
  const text = (await buffer(socket)).toString();
  expect(text).toMatch(/^HTTP\/1\.1 413 .*"body_too_large"/s);
});

test("the connection of a refused client closes soon after the client has stopped sending", async () => {
  await using own = await serve();
  const { socket } = await postAndClose(own.port, SIZE, 1_000);
  const answered = performance.now();
  expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 413 /);
  expect(performance.now() - answered).toBeLessThan(10_000);
});
