import { join } from "node:path";
import { Child } from "../lib/child.ts";
import type { Server, ServerPeer } from "../lib/peer.ts";
import type { Workshop } from "../lib/workshop.ts";

export const minimal: ServerPeer = {
  kind: "server",
  name: "minimal",
  about: "40 lines of node-pty + ws: buffers straight through, no recording, no history, no bounds",
  sharesSessions: true,
  keepsSessions: false,
  missing: async () => undefined,
  start,
};

async function start(workshop: Workshop): Promise<Server> {
  const main = join(import.meta.dirname, "minimal-main.ts");
  const child = await Child.start([process.execPath, main, workshop.program]);
  const port = Number((await child.line(/listening on (\d+)/))[1]);
  let last = 0;
  return {
    pids: [child.pid],
    session: (words) => {
      const query = new URLSearchParams({ session: String(++last) });
      for (const word of words) query.append("arg", word);
      const path = `/?${query}`;
      const plan = { port, path, speech: { kind: "raw" } } as const;
      return { first: () => ({ ...plan, isLate: false }), next: () => ({ ...plan, isLate: true }) };
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
