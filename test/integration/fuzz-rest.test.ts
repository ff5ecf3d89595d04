// Invalid input over REST: the server and its session host never crash, answer 5xx, or keep the input.
import { Agent } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { isErrorCode } from "../../src/protocol/errors.ts";
import { type Answer, ask, type PathQuestion } from "./harness/http.ts";
import { oddRequest, SESSION_IDS } from "./harness/odd-requests.ts";
import { openFiles, residentBytes, zombiesOf } from "./harness/processes.ts";
import { Rest } from "./harness/rest.ts";
import { SEED, scaled } from "./harness/scale.ts";
import { OPEN, TestServer } from "./harness/test-server.ts";

const CALLS = 100;
const SIDE_BY_SIDE = 6;
/** From here on everything is loaded, and has its working size. */
const WARM_ROUNDS = 30;
const ROUNDS = WARM_ROUNDS + scaled(70);
const MAX_GROWTH_BYTES = 48 * 1024 * 1024;
/** Garbage is soon collected: the rest is retained memory. */
const CONTEXT = {
  HOME: tmpdir(),
  NODE_OPTIONS: "--max-semi-space-size=2 --max-old-space-size=64",
};
const MAX_MORE_FILES = 20;

/** Avoids using up ports with thousands of calls. */
const agent = new Agent({ keepAlive: true });

let server: TestServer;
let rest: Rest;
/** The number of answers of each status. */
const statuses = new Map<number, number>();

beforeAll(async () => {
  server = await TestServer.start({ asProcess: true, args: OPEN, env: CONTEXT });
  rest = new Rest(server);
});
afterAll(() => server[Symbol.asyncDispose]());

function expectSane(asked: PathQuestion, { status, text, headers }: Answer, from: string): void {
  const about = `${from}: ${JSON.stringify(asked)} got ${status} ${text.slice(0, 300)}`;
  expect(status, about).toBeLessThan(500);
  if (status < 400 || asked.method === "HEAD" || asked.isHeadEnough === true) return;
  expect(headers["content-type"], about).toBe("application/json; charset=utf-8");
  const { error, code, details } = JSON.parse(text);
  expect([typeof error, isErrorCode(code), typeof details], about).toEqual(["string", true, "object"]);
}

async function callAll(requests: readonly PathQuestion[], from: string): Promise<void> {
  const waiting = [...requests];
  const worker = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const answer = await ask(server.url, next.path, { agent, ...next });
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      expectSane(next, answer, from);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
}

async function sessionIds(): Promise<string[]> {
  return [(await rest.get("/api/sessions")).json].flat().map((record) => Object(record).id);
}

/** Ensures a running session, an ended one and one that writes. */
async function prepare(): Promise<void> {
  const ids = await sessionIds();
  const [one, two, three] = SESSION_IDS;
  const commands = { [one]: "cat", [two]: "true", [three]: "yes | head -n 20000; cat" };
  for (const [id, command] of Object.entries(commands)) {
    if (!ids.includes(id)) await rest.post("/api/sessions", { id, command });
  }
}

/** Ends and removes all sessions. */
async function cleanUp(): Promise<void> {
  for (let times = 0; times < 2; times++) {
    await Promise.all((await sessionIds()).map((id) => rest.send("DELETE", `/api/sessions/${id}`)));
  }
}

test("thousands of odd calls of all endpoints: no 5xx, no crash, memory and files steady", {
  timeout: 300_000,
}, async () => {
  const host = await server.hostPid();
  const measure = () =>
    [server.pid, host].map((pid) => ({ bytes: residentBytes(pid), files: openFiles(pid) }));
  let before = measure();
  for (let round = 1; round <= ROUNDS; round++) {
    await prepare();
    const requests = fc.sample(oddRequest, { numRuns: CALLS, seed: SEED + round });
    await callAll(requests, `seed ${SEED}, round ${round}`);
    if (round % 10 === 0) await cleanUp();
    if (round === WARM_ROUNDS) before = measure();
  }
  await cleanUp();
  for (const [index, { bytes, files }] of measure().entries()) {
    expect(bytes - (before[index]?.bytes ?? 0)).toBeLessThan(MAX_GROWTH_BYTES);
    expect(files - (before[index]?.files ?? 0)).toBeLessThan(MAX_MORE_FILES);
  }
  // Proves that the calls passed the outer checks.
  const successes = [200, 201, 206].reduce((sum, status) => sum + (statuses.get(status) ?? 0), 0);
  expect(successes).toBeGreaterThan((ROUNDS * CALLS) / 4);
  expect(await server.hostPid()).toBe(host);
  await eventually(async () => zombiesOf(host).length === 0 || undefined, "the end of its programs");
  expect(await sessionIds()).toEqual([]);
  expect(`${server.log}${await server.hostLog()}`).not.toMatch(/request failed|rror: /);
});

test("input that is not HTTP is refused, and the server continues", async () => {
  const { port } = new URL(server.url);
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const lines = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .constantFrom(
        "GET /api/sessions\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\r\n\r\n",
        "POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
      )
      .map(encode),
    fc.nat(200_000).map((length) => encode(`GET / HTTP/1.1\r\nX: ${"x".repeat(length)}\r\n\r\n`)),
  );
  for (const bytes of fc.sample(lines, 300)) {
    const closed = Promise.withResolvers<void>();
    const socket = connect(Number(port), "127.0.0.1");
    // A reset is an answer, too.
    socket
      .on("error", () => {})
      .once("close", () => closed.resolve())
      .resume();
    socket.end(bytes);
    await closed.promise;
  }
  expect((await rest.get("/api/health")).status).toBe(200);
});
