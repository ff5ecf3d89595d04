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
