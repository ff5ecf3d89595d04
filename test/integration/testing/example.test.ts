import { expect, test } from "vitest";
import { Cluster, OracleChecker, oracleProgram } from "../../../packages/testing/src/kit.ts";

test("a viewer misses nothing when the network to a machine is cut", { timeout: 120_000 }, async () => {
  await using cluster = await Cluster.start({ remotes: ["box", "spare"] });
  using client = await cluster.client();
  const box = cluster.remote("box");
  const { remoteId } = await box.health();

  using shell = await client.run({ remoteId, command: ["sh"], cols: 100, rows: 30 });
  await shell.type("echo $((6 * 7)) on $(uname)\r");
  await shell.shows(/42 on Linux$/m);

  const checker = new OracleChecker();
  const command = oracleProgram({ bytes: 2_000_000, linesPerSecond: 5_000 });
  using viewer = await client.run({ remoteId, command }, { checker });
  await viewer.reaches(100_000);
  await box.disconnect();
  await box.reconnect();
  await viewer.ended();
  expect(checker.verify().records).toBeGreaterThan(10_000);
});
