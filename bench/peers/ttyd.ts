import { Child } from "../lib/child.ts";
import type { Server, ServerPeer } from "../lib/peer.ts";
import type { Workshop } from "../lib/workshop.ts";

const VERSION_TIMEOUT_MS = 5_000;

export const ttyd: ServerPeer = {
  kind: "server",
  name: "ttyd",
  about: "ttyd (C, libwebsockets): a program for each viewer, no recording",
  sharesSessions: false,
  keepsSessions: false,
  missing,
  start,
};

async function missing(): Promise<string | undefined> {
  try {
    await using child = await Child.start(["ttyd", "--version"]);
    await child.output(VERSION_TIMEOUT_MS);
    return undefined;
  } catch {
    return "no ttyd on the PATH";
  }
}

async function start(workshop: Workshop): Promise<Server> {
  const options = ["--port", "0", "--interface", "127.0.0.1", "--writable", "--url-arg"];
  const child = await Child.start(["ttyd", ...options, workshop.program]);
  const port = Number((await child.line(/Listening on port: (\d+)/))[1]);
  return {
    pids: [child.pid],
    session: (words) => {
      const query = new URLSearchParams();
      for (const word of words) query.append("arg", word);
      const path = `/ws?${query}`;
      const plan = () => ({ port, path, speech: { kind: "ttyd" }, isLate: false }) as const;
      return { first: plan, next: plan };
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
