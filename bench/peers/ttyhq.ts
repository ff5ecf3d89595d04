import { existsSync } from "node:fs";
import type { Server, ServerPeer, Session } from "../lib/peer.ts";
import type { Workshop } from "../lib/workshop.ts";
import { MAIN, TtyhqProcess } from "./ttyhq-process.ts";

export const ttyhq: ServerPeer = {
  kind: "server",
  name: "ttyhq",
  about: "this project: recording on, session host apart",
  sharesSessions: true,
  keepsSessions: true,
  missing: missingBuild,
  start,
};

export async function missingBuild(): Promise<string | undefined> {
  return existsSync(MAIN) ? undefined : "dist/main.js is not there: npm run build";
}

/** Plans sessions of the workshop's program on the server at `port`: its own, or those of a remote. */
export function sessionsAt(port: number, workshop: Workshop, remoteId?: string): Server["session"] {
  let last = 0;
  return (words): Session => {
    const id = `bench-${++last}`;
    const body = JSON.stringify({ id, command: [workshop.program, ...words], remoteId });
    const plan = (from: number) =>
      ({ port, path: "/ws", speech: { kind: "v3", sessionId: id, from }, isLate: false }) as const;
    return {
      first: () => ({ ...plan(0), create: { path: "/api/sessions", body } }),
      next: (from = 0) => plan(from),
    };
  };
}

async function start(workshop: Workshop): Promise<Server> {
  const server = await TtyhqProcess.start();
  return {
    pids: server.pids,
    session: sessionsAt(server.port, workshop),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
