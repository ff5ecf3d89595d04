// The raw output of a session over REST: arbitrary bytes, by offset and by Range (contract 3, RFC 9110 section 14).
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Rest } from "./harness/rest.ts";
import { TestServer } from "./harness/test-server.ts";

const LENGTH = 600_000;

let server: TestServer;
let rest: Rest;
let path: string;
/** Random bytes, with all values. */
const source = Buffer.concat([
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  randomBytes(LENGTH - 256),
]);

beforeAll(async () => {
  server = await TestServer.start();
  rest = new Rest(server);
  const file = join(server.controlDir, "source");
  await writeFile(file, source);
  const { id } = await rest.run(`stty raw; exec cat ${file}`);
  await rest.ended(id);
  path = `/api/sessions/${id}/output`;
});
afterAll(() => server[Symbol.asyncDispose]());

function expectBytes(bytes: Uint8Array, from: number, to: number): void {
  expect(bytes.length).toBe(to - from);
  expect(Buffer.compare(bytes, source.subarray(from, to))).toBe(0);
}

test("is what the program wrote, byte for byte", async () => {
  const answer = await rest.get(path);
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({
    "content-type": "application/octet-stream",
    "content-length": `${LENGTH}`,
    "accept-ranges": "bytes",
  });
  expectBytes(answer.bytes, 0, LENGTH);
});

describe("by offset", () => {
  test.each([
    ["from=0", 0, LENGTH],
    ["from=1", 1, LENGTH],
    ["from=255&to=256", 255, 256],
    ["from=100&to=100", 100, 100],
    ["from=200&to=100", 200, 200],
    [`from=${LENGTH - 1}`, LENGTH - 1, LENGTH],
    [`from=${LENGTH}`, LENGTH, LENGTH],
    [`from=262143&to=262145`, 262_143, 262_145],
    [`from=1000&to=${LENGTH + 1000}`, 1000, LENGTH],
  ])("%s", async (query, from, to) => {
    const answer = await rest.get(`${path}?${query}`);
    expect(answer.status).toBe(200);
    expectBytes(answer.bytes, from, to);
  });

  test("that is not there yet is 416 with the length", async () => {
    const answer = await rest.get(`${path}?from=${LENGTH + 1}`);
    expect([answer.status, answer.headers["content-range"]]).toEqual([416, `bytes */${LENGTH}`]);
    expect(answer.json).toMatchObject({ code: "range_not_satisfiable", details: { length: LENGTH } });
  });
});

describe("by Range", () => {
  test.each([
    ["bytes=0-0", 0, 1],
    ["bytes=0-", 0, LENGTH],
    ["bytes=10-19", 10, 20],
    ["bytes=-1", LENGTH - 1, LENGTH],
    [`bytes=-${LENGTH * 2}`, 0, LENGTH],
    [`bytes=${LENGTH - 1}-`, LENGTH - 1, LENGTH],
    [`bytes=100-${LENGTH * 2}`, 100, LENGTH],
  ])("%s", async (range, from, to) => {
    const answer = await rest.get(path, { range });
    expect([answer.status, answer.headers["content-range"]]).toEqual([
      206,
      `bytes ${from}-${to - 1}/${LENGTH}`,
    ]);
    expectBytes(answer.bytes, from, to);
  });

  test.each([`bytes=${LENGTH}-`, `bytes=${LENGTH}-${LENGTH + 5}`, "bytes=-0"])("%s is 416", async (range) => {
    const answer = await rest.get(path, { range });
    expect([answer.status, answer.headers["content-range"]]).toEqual([416, `bytes */${LENGTH}`]);
  });

  test.each(["bytes=5-1", "bytes=0-1,5-6", "lines=1-2", "bytes=", "bytes=a-b", "bytes=-", "nonsense"])(
    "%j is none",
    async (range) => {
      const answer = await rest.get(path, { range });
      expect(answer.status).toBe(200);
      expectBytes(answer.bytes, 0, LENGTH);
    },
  );

  test("of a stretch counts from its beginning", async () => {
    const answer = await rest.get(`${path}?from=1000&to=2000`, { range: "bytes=10-19" });
    expect([answer.status, answer.headers["content-range"]]).toEqual([206, "bytes 10-19/1000"]);
    expectBytes(answer.bytes, 1010, 1020);
  });
});

test("ranges of a session that is still writing are right", async () => {
  const { id } = await rest.run("stty raw; seq 1 200000; cat");
  const expected = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join("");
  for (let known = 0; known < expected.length; ) {
    const { outputBytes } = await rest.record(id);
    const answer = await rest.get(`/api/sessions/${id}/output?to=${outputBytes}`, {
      range: `bytes=${known}-`,
    });
    if (answer.status === 416) continue;
    expect(answer.status).toBe(206);
    expect(answer.text === expected.slice(known, known + answer.bytes.length)).toBe(true);
    known += answer.bytes.length;
  }
});
