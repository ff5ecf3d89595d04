import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import { withDeadline } from "../../lib/async/deadline.ts";
import { type Client, createClient } from "../../protocol/client/client.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { addCommand } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { addServerOptions, localSockets, type ServerFlags, serverOf, socketSend } from "../server.ts";

type HealthFlags = ServerFlags & {
  readonly timeout: number;
  readonly wait?: number;
  readonly sessionHost?: true;
};

/** Interval of checks with --wait. */
const POLL_MS = 200;

export function addHealth(program: Command, cli: Cli): void {
  addCommand<HealthFlags>(program, {
    usage: "health",
    summary: "check the health of the server, for container probes",
    description:
      "Check the health of the server: exit code 0 when it is healthy, else 1 and the reason on standard error. Where only a session host runs, its health is checked.",
    examples: [
      ["HEALTHCHECK CMD ttyhq health", "in a Dockerfile"],
      ["ttyhq health --wait 30 && ttyhq ls", "in a script that has just started a server"],
    ],
    options: (command) =>
      addServerOptions(
        command
          .option("--session-host", "check the session host of the control directory instead of the server")
          .option("-t, --timeout <seconds>", "how long to wait for the answer", parseSeconds, 5)
          .option("--wait <seconds>", "repeat the check for so long until it succeeds", parseSeconds),
      ),
    run: (flags) => checkUntil(endOf(flags), flags, cli),
  });
}

/** Milliseconds, monotonic. */
function endOf({ wait = 0 }: HealthFlags): number {
  return performance.now() + wait * 1000;
}

async function checkUntil(end: number, flags: HealthFlags, cli: Cli): Promise<void> {
  for (;;) {
    try {
      await check(await probed(flags, cli), flags.timeout);
      return;
    } catch (error) {
      if (performance.now() + POLL_MS > end) throw error;
      await pause(POLL_MS);
    }
  }
}

/** A server with a socket must answer: its session host cannot replace it. */
async function probed(flags: HealthFlags, cli: Cli): Promise<Client> {
  const { client, controlDir } = await serverOf(flags, cli);
  if (controlDir === undefined) {
    if (flags.sessionHost !== true) return client;
    throw new ServiceError(
      "invalid_request",
      "--session-host is asked by its control directory, not by --url",
    );
  }
  const { server, host } = localSockets(controlDir);
  if (flags.sessionHost === true) return createClient(socketSend([host]));
  // --wait is for a server, and its session host starts before it.
  const isExpected = flags.wait !== undefined || existsSync(server);
  return isExpected ? createClient(socketSend([server])) : client;
}

async function check(client: Client, seconds: number): Promise<void> {
  try {
    await withDeadline(client.health(), seconds * 1000, "the health check");
  } catch (cause) {
    throw cause instanceof ServiceError ? cause : unwell(cause);
  }
}

function unwell(cause: unknown): ServiceError {
  return new ServiceError("host_unreachable", cause instanceof Error ? cause.message : "no answer", {
    cause,
  });
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= 3600) return seconds;
  throw new RangeError("must be a number of seconds above 0");
}
