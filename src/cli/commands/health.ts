import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { withDeadline } from "../../lib/async/deadline.ts";
import type { Client } from "../../protocol/client/client.ts";
import { asServiceError } from "../../protocol/client/link.ts";
import { command } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { clientAt, hostOf, localSockets, SERVER_FLAGS, type ServerFlags, serverOf } from "../server.ts";

const POLL_MS = 200;

export const addHealth = command({
  usage: "health",
  summary: "check the health of the server, for container probes",
  description:
    "Check the health of the server: exit code 0 when it is healthy, else 1 and the reason on standard error. Where only a session host runs, its health is checked.",
  examples: [
    ["HEALTHCHECK CMD ttyhq health", "in a Dockerfile"],
    ["ttyhq health --wait 30 && ttyhq ls", "in a script that has just started a server"],
  ],
  flags: {
    sessionHost: ["--session-host", "check the session host of the control directory instead of the server"],
    timeout: ["-t, --timeout <seconds>", "how long to wait for the answer", parseSeconds, "5"],
    wait: ["--wait <seconds>", "repeat the check for so long until it succeeds", parseSeconds],
    ...SERVER_FLAGS,
  },
  run: async (flags, _, cli) => {
    const client = await probed(flags, cli);
    const end = performance.now() + (flags.wait ?? 0) * 1000;
    for (;;) {
      try {
        await withDeadline(client.health(), flags.timeout * 1000, "the health check");
        return;
      } catch (error) {
        if (performance.now() + POLL_MS > end) throw asServiceError(error);
        await pause(POLL_MS);
      }
    }
  },
});

/** A server with a socket must answer: its session host cannot replace it. */
async function probed(
  flags: ServerFlags & { readonly wait: number | undefined; readonly sessionHost: true | undefined },
  cli: Cli,
): Promise<Client> {
  const server = await serverOf(flags, cli);
  if (flags.sessionHost) return hostOf(server);
  if (server.controlDir === undefined) return server.client;
  const socket = localSockets(server.controlDir).server;
  // --wait is for a server, and its session host starts before it.
  return flags.wait !== undefined || existsSync(socket) ? clientAt(socket) : server.client;
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= 3600) return seconds;
  throw new RangeError("must be a number of seconds above 0, at most 3600");
}
