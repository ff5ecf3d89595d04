import type { Server, ServerPeer } from "../lib/peer.ts";
import type { Workshop } from "../lib/workshop.ts";
import { missingBuild, sessionsAt } from "./ttyhq.ts";
import { TtyhqProcess } from "./ttyhq-process.ts";

export const ttyhqInline: ServerPeer = {
  kind: "server",
  name: "ttyhq-inline",
  about: "this project with the sessions in the server's process: recording on",
  sharesSessions: true,
  keepsSessions: true,
  missing: missingBuild,
  start,
};

async function start(workshop: Workshop): Promise<Server> {
  const server = await startInline();
  return {
    pids: server.pids,
    session: sessionsAt(server.port, workshop),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export async function startInline(): Promise<TtyhqProcess> {
  return await TtyhqProcess.start(["--session-host", "inline"]);
}
