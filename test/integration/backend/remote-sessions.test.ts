import { expect, test } from "vitest";
import { RemoteSessions } from "../../../src/remote/remote-sessions.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { TestServer } from "../harness/test-server.ts";
import { describeBackend } from "./conformance.ts";

describeBackend("the terminals of a session host over its unix socket", async () => {
  const server = await TestServer.start();
  const backend = new RemoteSessions({ target: { socketPath: server.hostSocket }, version: "test" });
  await backend.connected(PATIENCE_MS);
  return {
    backend,
    [Symbol.asyncDispose]: async () => {
      await backend[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
});

test("a session of a process that has left is refused at once, even if it is still known", async () => {
  await using server = await TestServer.start();
  await using backend = new RemoteSessions({ target: { socketPath: server.hostSocket }, version: "test" });
  await backend.connected(PATIENCE_MS);
  const { id } = await backend.create({ command: ["cat"], cols: 80, rows: 24 });
  backend.retarget(undefined);
  let refusal: unknown;
  backend
    .subscribe(id, () => {})
    .catch((error: unknown) => {
      refusal = error;
    });
  await new Promise((resolve) => setImmediate(resolve));
  expect(refusal).toMatchObject({ code: "host_unreachable", message: "it has left" });
});
