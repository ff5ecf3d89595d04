// The server's cost of requests without a login. bench/strangers.ts measures it.
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../harness/http.ts";
import { askAs, logIn, PASSWORD, passwordServer } from "../harness/password-server.ts";
import { openConnection, untilClosed } from "../harness/raw-request.ts";
import type { TestServer } from "../harness/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await passwordServer("inline", { args: ["--rate-limit-api", "4"] });
});
afterAll(() => server[Symbol.asyncDispose]());

/** The answer to a request whose body never comes. */
async function withoutBody(path: string, length: number) {
  const socket = await openConnection(server.url);
  const { host } = new URL(server.url);
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`,
  );
  const { statuses, code } = await untilClosed(socket, 10_000);
  return [...statuses, code];
}

test("the body of a stranger is not read but where one may log in, and there no longer than a proof can be", async () => {
  const token = await logIn(server);
  expect(await withoutBody("/api/sessions", 100)).toEqual([401, "unauthorized"]);
  expect(await withoutBody("/api/nothing", 100)).toEqual([404, "not_found"]);
  const body = { password: "x".repeat(16 * 1024) };
  expect(await ask(server.url, "/api/auth/token", { body })).toMatchObject({
    status: 413,
    json: { code: "body_too_large", error: "a body has at most 16384 bytes here" },
  });
  const long = { command: ["true", ...Array<string>(40).fill("x".repeat(500))] };
  expect((await askAs(token, server, "/api/sessions", { body: long })).status).toBe(201);
});

test("beyond the limit of calls no request without a login is read, parsed or served", async () => {
  for (let call = 0; call < 5; call++) await ask(server.url, "/api/openapi.json");
  expect(await withoutBody("/api/auth/token", 100)).toEqual([429, "rate_limited"]);
  expect(await ask(server.url, "/api/openapi.json")).toMatchObject({ status: 429 });
  expect(await ask(server.url, "/livez")).toMatchObject({ status: 200 });
});

test("metrics are for whoever may everything here", async () => {
  expect(await ask(server.url, "/metrics")).toMatchObject({ status: 401, json: { code: "unauthorized" } });
  const body = { password: PASSWORD };
  const { json } = await ask(server.url, "/api/auth/token", { body, from: "127.0.0.9" });
  expect((await askAs(json.token, server, "/metrics")).status).toBe(200);
});
