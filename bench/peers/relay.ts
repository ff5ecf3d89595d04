import { join } from "node:path";
import { Child } from "../lib/child.ts";
import type { Server, ServerPeer } from "../lib/peer.ts";
import type { Workshop } from "../lib/workshop.ts";
import { missingBuild, sessionsAt } from "./ttyhq.ts";
import { startInline } from "./ttyhq-inline.ts";

export const relay: ServerPeer = {
  kind: "server",
  name: "relay",
  about:
    "ttyhq-inline behind ten lines of node:net that look at no byte: what a process in the way costs at least",
  sharesSessions: true,
  keepsSessions: true,
  missing: missingBuild,
  start,
};

async function start(workshop: Workshop): Promise<Server> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startInline());
  const main = join(import.meta.dirname, "relay-main.ts");
  const child = stack.use(await Child.start([process.execPath, main, `${server.port}`]));
  const port = Number((await child.line(/listening on (\d+)/))[1]);
  const owned = stack.move();
  return {
    pids: [...server.pids, child.pid],
    session: sessionsAt(port, workshop),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
