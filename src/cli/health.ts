import { existsSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import { withDeadline } from "../lib/deadline.ts";
import { type Client, createClient } from "../protocol/client.ts";
import { ServiceError } from "../protocol/errors.ts";
import { examples } from "./examples.ts";
import { addServerOptions, localSockets, type ServerFlags, serverOf } from "./server.ts";
import { socketSend } from "./socket-send.ts";
import type { Cli } from "./surroundings.ts";

type HealthFlags = ServerFlags & { readonly timeout: number };

export function addHealth(program: Command, cli: Cli): void {
  const command = program
    .command("health")
    .summary("end with 0 when the server is well, for container probes")
    .description(
      "Ask the server for its health and end with 0 when it is well, else with 1 and the reason on standard error. Where there is only a session host, that is asked.",
    )
    .option("-t, --timeout <seconds>", "how long to wait for the answer", parseSeconds, 5)
    .allowExcessArguments(false)
    .action(async (flags: HealthFlags) => await check(probed(flags, cli), flags.timeout));
  addServerOptions(command).addHelpText(
    "after",
    examples(["HEALTHCHECK CMD ttyhq health", "in a Dockerfile"]),
  );
}

/** A server whose socket is there must answer on it: its session host does not stand in for it. */
function probed(flags: ServerFlags, cli: Cli): Client {
  const { client, controlDir } = serverOf(flags, cli);
  if (controlDir === undefined) return client;
  const { server } = localSockets(controlDir);
  return existsSync(server) ? createClient(socketSend([server])) : client;
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
  throw new InvalidArgumentError("It must be a number of seconds above 0.");
}
