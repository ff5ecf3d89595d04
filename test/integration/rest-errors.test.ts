// Refusals over REST (contract 4.1).
import { Agent } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { SessionRecord } from "../../src/protocol/schemas/session.ts";
import { type Answer, ask, type PathQuestion } from "./harness/http.ts";
import { Rest } from "./harness/rest.ts";
import { TestServer } from "./harness/test-server.ts";

let server: TestServer;
let rest: Rest;
let running: string;
let ended: string;

beforeAll(async () => {
  server = await TestServer.start();
  rest = new Rest(server);
  running = (await rest.create({ id: "running", command: "cat" })).id;
  ended = (await rest.create({ id: "ended", command: "true" })).id;
  await rest.ended(ended);
  // Viewers that waited for its end leave a moment later, and the compared lists contain viewers.
  await eventually(
    async () => (await rest.record(ended)).viewers === 0 || undefined,
    "its end without viewers",
  );
});
afterAll(() => server[Symbol.asyncDispose]());

/** Every error is JSON of one shape, is not cached, and reveals no internals. */
function expectError(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.json]).toMatchObject([status, { code }]);
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(answer.headers["cache-control"]).toBe("no-store");
  const body = Object(answer.json);
  expect(Object.keys(body).sort()).toEqual(["code", "details", "error"]);
  expect(body.error).toMatch(/^\S.{2,}/);
  expect(body.details).toBeTypeOf("object");
  expect(answer.text).not.toMatch(/\bat .*:\d+:\d+|<html/i);
}

describe("POST /api/sessions refuses", () => {
  test.each<[string, unknown, string]>([
    ["a program that is not there", { command: "no-such-program" }, "command_not_found"],
    ["a path that is not there", { command: ["/no/such/program", "x"] }, "command_not_found"],
    ["a file that is no program", { command: "/etc/passwd" }, "command_not_found"],
    ["a directory as a program", { command: "/tmp" }, "command_not_found"],
    ["a directory that is not there", { command: "cat", cwd: "/no/such" }, "invalid_cwd"],
    ["the same by both names", { command: "cat", cwd: "/no/such", workingDir: "/no/such" }, "invalid_cwd"],
    ["a file as a directory", { command: "cat", cwd: "/etc/passwd" }, "invalid_cwd"],
    ["two different directories", { command: "cat", cwd: "/", workingDir: "/tmp" }, "invalid_request"],
    ["an array with args", { command: ["cat"], args: ["x"] }, "invalid_request"],
    ["an empty program", { command: "" }, "invalid_request"],
    ["an empty array", { command: [] }, "invalid_request"],
    ["an array with an empty program", { command: ["", "x"] }, "invalid_request"],
    ["a program with a NUL", { command: "ca\0t" }, "invalid_request"],
    ["a number as a program", { command: 5 }, "invalid_request"],
    ["0 columns", { cols: 0 }, "invalid_request"],
    ["1001 rows", { rows: 1001 }, "invalid_request"],
    ["half a column", { cols: 80.5 }, "invalid_request"],
    ["a size as text", { cols: "80" }, "invalid_request"],
    ["a bad name of a variable", { env: { "A-B": "x" } }, "invalid_request"],
    ["an empty name of a variable", { env: { "": "x" } }, "invalid_request"],
    ["a value with a NUL", { env: { A: "\0" } }, "invalid_request"],
    ["a number as a value", { env: { A: 5 } }, "invalid_request"],
    ["an id with a slash", { id: "../x" }, "invalid_request"],
    ["an empty id", { id: "" }, "invalid_request"],
    ["an id of 65 characters", { id: "x".repeat(65) }, "invalid_request"],
    ["null", null, "invalid_request"],
    ["an array as the body", [], "invalid_request"],
    ["a number as the body", 7, "invalid_request"],
  ])("%s", async (_, body, code) => {
    const before = (await rest.get("/api/sessions")).text;
    expectError(await rest.post("/api/sessions", body), 400, code);
    expect((await rest.get("/api/sessions")).text).toBe(before);
  });

  test("an id that is taken", async () => {
    expectError(await rest.post("/api/sessions", { id: running, command: "cat" }), 409, "session_exists");
    expectError(await rest.post("/api/sessions", { id: ended, command: "cat" }), 409, "session_exists");
  });

  test("all wrong fields at once, by their names", async () => {
    const answer = await rest.post("/api/sessions", { cols: 0, env: { "1": "x" }, name: 5 });
    const { issues } = Object(answer.json).details;
    expect(issues.map(({ path }: { path: string }) => path).sort()).toEqual(["cols", "env.1", "name"]);
    for (const { message } of issues) expect(message).toMatch(/\w/);
  });
});

describe("a session's endpoints refuse", () => {
  test.each<[string, string, unknown]>([
    ["POST", "input", {}],
    ["POST", "input", { text: "x", key: "enter" }],
    ["POST", "input", { text: 5 }],
    ["POST", "input", { key: "no_such_key" }],
    ["POST", "input", { data: "no base64!" }],
    ["POST", "resize", { cols: 0, rows: 24 }],
    ["POST", "resize", { cols: 80 }],
    ["POST", "resize", { cols: 80, rows: "24" }],
    ["POST", "kill", { signal: "SIGNONE" }],
    ["POST", "kill", { signal: 9 }],
    ["POST", "markers", {}],
    ["POST", "markers", { label: "x".repeat(1025) }],
    ["PATCH", "", { name: " " }],
    ["PATCH", "", { name: "x".repeat(257) }],
    ["PATCH", "", {}],
    ["GET", "output?from=-1", undefined],
    ["GET", "output?from=x", undefined],
    ["GET", "output?to=1.5", undefined],
    ["GET", "output?from=1&from=2", undefined],
    ["GET", "events?from=-1", undefined],
    ["GET", "stream?after=-1", undefined],
    ["GET", "recording?follow=yes", undefined],
  ])("%s %s %j", async (method, path, body) => {
    const answer = await rest.send(method, `/api/sessions/${running}${path === "" ? "" : `/${path}`}`, body);
    expectError(answer, 400, "invalid_request");
  });

  const endpoints: readonly [string, string, unknown][] = [
    ["GET", "", undefined],
    ["PATCH", "", { name: "x" }],
    ["DELETE", "", undefined],
    ["DELETE", "/cleanup", undefined],
    ["POST", "/input", { text: "x" }],
    ["POST", "/resize", { cols: 80, rows: 24 }],
    ["POST", "/kill", {}],
    ["POST", "/markers", { label: "x" }],
    ...["text", "buffer", "resync", "recording", "stream", "output", "events"].map(
      (view): [string, string, unknown] => ["GET", `/${view}`, undefined],
    ),
  ];

  test.each(endpoints)("%s %s of an unknown session", async (method, path, body) => {
    expectError(await rest.send(method, `/api/sessions/nobody${path}`, body), 404, "session_not_found");
  });

  test.each(endpoints)("%s %s of what cannot be an id", async (method, path, body) => {
    for (const id of ["%2e%2e%2fetc", "a%00b", "x".repeat(65), "%F0%9F%98%80"]) {
      expectError(await rest.send(method, `/api/sessions/${id}${path}`, body), 400, "invalid_request");
    }
    expectError(await rest.send(method, `/api/sessions/%ff${path}`, body), 400, "invalid_request");
  });

  test.each(endpoints.filter(([, path]) => /input|resize|kill|markers/.test(path)))(
    "%s %s of an ended session",
    async (method, path, body) => {
      const answer = await rest.send(method, `/api/sessions/${ended}${path}`, body);
      expectError(answer, 400, "session_not_running");
    },
  );

  test("cleanup of a running session", async () => {
    expectError(await rest.send("DELETE", `/api/sessions/${running}/cleanup`), 409, "session_running");
    expect(SessionRecord.parse((await rest.get(`/api/sessions/${running}`)).json).status).toBe("running");
  });

  test("input that the program does not read", async () => {
    const { id } = await rest.run("stty raw -echo; echo ready; exec sleep 1000");
    await rest.shows(id, /ready/);
    const text = "x".repeat(700_000);
    expect((await rest.post(`/api/sessions/${id}/input`, { text })).status).toBe(200);
    expectError(await rest.post(`/api/sessions/${id}/input`, { text }), 429, "input_overflow");
  });
});

describe("the service refuses", () => {
  const json = { "content-type": "application/json" };
  const send = (request: PathQuestion): Promise<Answer> => ask(server.url, request.path, request);

  test.each(["{", '{"a":}', "[1,]", "cat", '{"command":"cat"'])("malformed JSON: %s", async (body) => {
    expectError(
      await send({ method: "POST", path: "/api/sessions", headers: json, body }),
      400,
      "invalid_json",
    );
  });

  test("a body over 1 MiB, and takes one just under it", async () => {
    const body = (bytes: number): string => `{"text":"${"x".repeat(bytes - 11)}"}`;
    const path = `/api/sessions/nobody/input`;
    // On a connection that closes after the answer, a reset for the rest of the body could come before the answer is
    // read.
    const agent = new Agent({ keepAlive: true });
    const over = await send({ method: "POST", path, headers: json, body: body(1024 * 1024 + 1), agent });
    agent.destroy();
    expectError(over, 413, "body_too_large");
    const under = await send({ method: "POST", path, headers: json, body: body(1024 * 1024) });
    expectError(under, 404, "session_not_found");
  });

  test("to ignore a body because of its content type", async () => {
    const body = '{"command":"no-such-program"}';
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "nonsense"]) {
      const answer = await send({
        method: "POST",
        path: "/api/sessions",
        headers: { "content-type": type },
        body,
      });
      expectError(answer, 400, "command_not_found");
    }
    expectError(await send({ method: "POST", path: "/api/sessions", body }), 400, "command_not_found");
    const gzip = { ...json, "content-encoding": "gzip" };
    expectError(
      await send({ method: "POST", path: "/api/sessions", headers: gzip, body }),
      400,
      "invalid_request",
    );
  });

  test.each(["/api", "/api/", "/api/nothing", "/api/sessions/x/nothing", "/nothing", "/api/%ff", "/%00"])(
    "unknown path %s",
    async (path) => {
      const answer = await send({ path });
      expect([400, 404]).toContain(answer.status);
      expectError(answer, answer.status, answer.status === 404 ? "not_found" : "invalid_request");
    },
  );

  test.each([
    ["PUT", "/api/sessions", "GET, HEAD, POST"],
    ["DELETE", "/api/sessions", "GET, HEAD, POST"],
    ["POST", "/api/sessions/running", "GET, HEAD, PATCH, DELETE"],
    ["GET", "/api/sessions/running/input", "POST"],
    ["HEAD", "/api/sessions/running/kill", "POST"],
    ["OPTIONS", "/api/sessions", "GET, HEAD, POST"],
    ["POST", "/api/health", "GET, HEAD"],
    ["TRACE", "/livez", "GET, HEAD"],
  ])("%s on %s, which takes %s", async (method, path, allowed) => {
    const answer = await send({ method, path });
    expect([answer.status, answer.headers.allow]).toEqual([405, allowed]);
    if (method !== "HEAD") expectError(answer, 405, "method_not_allowed");
  });

  test("another Host and another Origin than its own", async () => {
    const path = "/api/sessions";
    expectError(await send({ path, headers: { host: "evil.example" } }), 403, "host_not_allowed");
    const headers = { origin: "https://evil.example" };
    expectError(await send({ method: "POST", path, headers, body: {} }), 403, "origin_not_allowed");
  });
});

describe("an unparsable request is refused in the same shape", () => {
  test("an address of 20,000 characters", async () => {
    const answer = await ask(server.url, `/api/sessions?x=${"x".repeat(20_000)}`);
    expectError(answer, 431, "headers_too_large");
  });

  test("a length that is none", async () => {
    const answer = await ask(server.url, "/api/health", { headers: { "content-length": "-1" } });
    expectError(answer, 400, "invalid_request");
  });
});
