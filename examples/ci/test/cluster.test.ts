import { OracleChecker, oracleProgram, reportFailures, startCluster, type TestCluster } from "@ttyhq/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startCluster({ remotes: 2 });
});
afterEach(reportFailures(() => cluster));
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test("the HQ lists every machine that has registered", async () => {
  await cluster.registered();
  expect((await cluster.hq.health()).remotes).toBe(2);
});

test("a session runs on the machine that was asked for, through the HQ", async () => {
  using client = await cluster.client();
  const { remoteId } = await cluster.remote("remote-2").health();
  using shell = await client.run({ remoteId, command: ["sh"], cols: 80, rows: 24 });
  await shell.type("echo $((6 * 7)) on $(uname)\r");
  await shell.shows(/42 on \w+$/m);
  expect(await client.api.get(shell.sessionId)).toMatchObject({ source: "remote-2", status: "running" });
  await shell.type("exit 3\r");
  expect((await shell.ended()).exitCode).toBe(3);
});

test("twenty viewers receive the same output, whole", async () => {
  using client = await cluster.client();
  const { remoteId } = await cluster.remote("remote-1").health();
  const { seed } = cluster;
  const command = oracleProgram({ bytes: 200_000, seed, waitsForKey: true });
  using first = await client.run({ remoteId, command });
  const checkers = Array.from({ length: 20 }, () => new OracleChecker({ seed }));
  using viewers = new DisposableStack();
  const ends = checkers.map(async (checker) => {
    const viewer = await client.attach(first.sessionId, { checker, hasScreen: false, keptBytes: 0 });
    viewers.use(viewer);
    return viewer.ended();
  });
  await first.reaches(1);
  await first.type("g");
  await Promise.all(ends);
  for (const checker of checkers) expect(checker.verify()).toMatchObject({ isComplete: true, skips: 0 });
});

test("a viewer misses nothing when the connection to a machine is cut", async () => {
  using client = await cluster.client();
  const machine = cluster.remote("remote-1");
  const { remoteId } = await machine.health();
  const { seed } = cluster;
  const checker = new OracleChecker({ seed });
  const command = oracleProgram({ bytes: 1_000_000, seed, linesPerSecond: 5_000 });
  using viewer = await client.run({ remoteId, command }, { checker });
  await viewer.reaches(50_000);
  await machine.disconnect();
  await machine.reconnect();
  await viewer.ended();
  expect(checker.verify()).toMatchObject({ isComplete: true, skips: 0 });
});
