import { eventually, reportFailures, startCluster, type TestCluster } from "@ttyhq/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startCluster({ remotes: 1 });
});
afterEach(reportFailures(() => cluster));
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test("a machine that stops answering leaves the HQ within one check, and returns with its programs", async () => {
  using client = await cluster.client();
  const machine = cluster.remote("remote-1");
  const { remoteId } = await machine.health();
  using shell = await client.run({ remoteId, command: ["sh"], cols: 80, rows: 24 });
  await shell.type("answer=42\r");

  await machine.pause();
  const hasLeft = async () => (await cluster.hq.health()).remotes === 0 || undefined;
  await eventually(hasLeft, "the removal of the machine");
  await expect(shell.type("lost\r")).rejects.toMatchObject({ code: "remote_unreachable" });

  await machine.unpause();
  await cluster.registered();
  await shell.connected();
  await eventually(async () => {
    await shell.type("echo $answer there\r");
    return true;
  }, "an accepted line");
  await shell.shows(/42 there$/m);
});
