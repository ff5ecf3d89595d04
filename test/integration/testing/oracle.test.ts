// The oracle on a real terminal prints the same bytes as through a pipe.
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OracleChecker } from "../../../packages/testing/src/oracle/checker.ts";
import { type OracleOptions, oracleProgram } from "../../../packages/testing/src/oracle/program.ts";
import { ServerClient } from "../../../packages/testing/src/server-client.ts";
import { TestServer } from "../harness/test-server.ts";

let server: TestServer;
let client: ServerClient;

beforeAll(async () => {
  server = await TestServer.start();
  client = new ServerClient({ url: server.url });
});

afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

function program(options: OracleOptions): string[] {
  return oracleProgram({ node: process.execPath, ...options });
}

function piped(command: readonly string[]): Uint8Array {
  const [node = "", ...args] = command;
  return spawnSync(node, args, { maxBuffer: 64 * 1024 * 1024 }).stdout;
}

test.each([false, true])("a terminal and a pipe get the same bytes, wild: %s", async (isWild) => {
  const command = program({ bytes: 1_000_000, isWild });
  const checker = new OracleChecker();
  using viewer = await client.run({ command }, { checker });
  expect(await viewer.ended()).toMatchObject({ exitCode: 0 });
  expect(checker.verify().bytes).toBe(viewer.bytes.length);
  expect(Buffer.compare(viewer.bytes, piped(command))).toBe(0);
});

test("the program waits for a key where it is told to, and echoes none", async () => {
  const checker = new OracleChecker();
  const command = program({ bytes: 10_000, waitsForKey: true });
  using viewer = await client.run({ command }, { checker });
  await viewer.shows(/waits for a key [0-9a-f]{8}$/m);
  await viewer.type("abc");
  await viewer.ended();
  checker.verify();
});

test("the program ends at Ctrl-C", async () => {
  using viewer = await client.run({ command: program({ bytes: 1, waitsForKey: true }) });
  await viewer.shows("waits for a key");
  await viewer.type("\x03");
  expect(await viewer.ended()).toMatchObject({ exitCode: 130 });
});

test("the program keeps its pace", async () => {
  const started = performance.now();
  const checker = new OracleChecker();
  using viewer = await client.run({ command: program({ bytes: 20_000, linesPerSecond: 200 }) }, { checker });
  await viewer.ended();
  const seconds = (performance.now() - started) / 1000;
  expect(checker.verify().records / seconds).toBeLessThan(220);
});

test("in a shell the program is checked between the shell's own lines", async () => {
  const checker = new OracleChecker({ isInShell: true });
  using viewer = await client.run({ command: ["sh"] }, { checker });
  const [node = "", ...args] = program({ bytes: 10_000 });
  const line = [node, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  await viewer.type(`${line}\r`);
  // The prompt: until then the oracle gets the keys.
  await viewer.shows(/oracle ends: .*\n[#$]$/);
  await viewer.type("exit\r");
  await viewer.ended();
  checker.verify();
});

test("a viewer who joins in the middle is checked from there on", async () => {
  const checker = new OracleChecker({ from: "middle" });
  const command = program({ bytes: 100_000, waitsForKey: true });
  using first = await client.run({ command });
  await first.shows("waits for a key");
  await first.type("go");
  await first.reaches(50_000);
  using second = await client.attach(first.sessionId, { from: 40_001, checker });
  await second.ended();
  const { skipped, records } = checker.verify();
  expect(skipped).toBeGreaterThan(0);
  expect(records).toBeGreaterThan(0);
});
