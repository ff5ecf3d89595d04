import { Fleet } from "../../../src/hq/fleet.ts";
import { remoteTarget } from "../../../src/hq/remote-connection.ts";
import { RemoteSessions } from "../../../src/remote/remote-sessions.ts";
import { memoryRegistry } from "../../unit/hq/memory-store.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { TestServer } from "../harness/test-server.ts";
import { describeBackend } from "./conformance.ts";

describeBackend("the terminals of a remote, through its HQ", async () => {
  const server = await TestServer.start();
  const registry = await memoryRegistry({ isAlive: async () => true });
  const quiet = { info: () => {}, warn: () => {} };
  const backends: RemoteSessions[] = [];
  const network = { ca: undefined, connect: () => Promise.reject(new Error("no tunnel")) };
  const fleet = new Fleet({
    ...{ registry, local: undefined, log: quiet, targetOf: (remote) => remoteTarget(remote, network) },
    connect: (target) => {
      const backend = new RemoteSessions({ target, version: "test" });
      backends.push(backend);
      return backend;
    },
  });
  const { id } = await registry.register({ id: "remote", name: "worker", url: server.url, token: "unasked" });
  await Promise.all(backends.map((backend) => backend.connected(PATIENCE_MS)));
  return {
    backend: fleet,
    place: { remoteId: id },
    [Symbol.asyncDispose]: async () => {
      await fleet[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
});
