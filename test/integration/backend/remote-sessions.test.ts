import { RemoteSessions } from "../../../src/remote/remote-sessions.ts";
import { TestServer } from "../harness/test-server.ts";
import { describeBackend } from "./conformance.ts";

describeBackend("the terminals of a session host over its unix socket", async () => {
  const server = await TestServer.start();
  const backend = new RemoteSessions({ target: { socketPath: server.hostSocket }, version: "test" });
  await backend.connected(10_000);
  return {
    backend,
    [Symbol.asyncDispose]: async () => {
      await backend[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
});
