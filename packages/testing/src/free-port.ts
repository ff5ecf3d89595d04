import { once } from "node:events";
import { createServer } from "node:net";

/** Below the range of outgoing connections, so that nobody takes a port while its container is down. */
const FIRST_PORT = 15_000;
const LAST_PORT = 31_999;

/** A TCP port of this machine without a listener. */
export async function freePort(random: () => number = Math.random): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(random() * (LAST_PORT - FIRST_PORT + 1));
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "0.0.0.0");
  try {
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
