import type { Command } from "commander";
import type { Client } from "../../protocol/client/client.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { type SessionRecord, SIGNALS, SignalName } from "../../protocol/schemas/session.ts";
import { addCommand, ExitCode, type Finish, jsonText, writeMessage } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../server.ts";
import { findSession } from "../session-reference.ts";

type KillFlags = ServerFlags & { readonly signal?: SignalName; readonly json?: true };

type Outcome =
  | { readonly id: string; readonly status: "exited" | "removed"; readonly exitCode?: number | undefined }
  | { readonly id: string; readonly status: "signalled"; readonly signal: SignalName };

export function addKill(program: Command, cli: Cli, finish: Finish): void {
  addCommand<KillFlags>(program, {
    usage: "kill",
    summary: "end a session, or remove an ended one",
    description:
      "End a running session: SIGHUP and SIGTERM to all of its processes, SIGKILL after 3 seconds. Remove an ended session with its recording. A session is named by its id, the beginning of its id, or its name.",
    examples: [
      ["ttyhq kill build", "ends the session named build"],
      ["ttyhq kill 7f3a 91c0", "ends two, by the beginnings of their ids"],
      ["ttyhq kill --signal SIGINT build", "as ctrl-c would"],
    ],
    options: (command) =>
      addServerOptions(
        command
          .argument("<session...>", "ids or names")
          .option(
            "-s, --signal <name>",
            "only send this signal to the program in the foreground",
            parseSignal,
          )
          .option("--json", "print the outcomes as a JSON array"),
      ),
    run: async (flags, references) => {
      const { client } = await serverOf(flags, cli);
      const { outcomes, failures } = await killAll(references, flags, client);
      cli.stdout.write(flags.json ? jsonText(outcomes) : outcomes.map(sentence).join(""));
      for (const { message } of failures) writeMessage(cli.stderr, message);
      if (failures.length > 0) finish(ExitCode.Failed);
    },
  });
}

/** Ends each session independently of the others. */
async function killAll(
  references: readonly string[],
  { signal }: KillFlags,
  client: Client,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly failures: readonly ServiceError[] }> {
  const sessions = await client.list();
  const outcomes: Outcome[] = [];
  const failures: ServiceError[] = [];
  for (const reference of references) {
    try {
      outcomes.push(await killOne(findSession(reference, sessions), signal, client));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      failures.push(error);
    }
  }
  return { outcomes, failures };
}

async function killOne(
  { id }: SessionRecord,
  signal: SignalName | undefined,
  client: Client,
): Promise<Outcome> {
  if (signal !== undefined) {
    await client.kill(id, signal);
    return { id, status: "signalled", signal };
  }
  const { status, exitCode } = await client.remove(id);
  return { id, status, exitCode };
}

function sentence(outcome: Outcome): string {
  if (outcome.status === "signalled") return `${outcome.signal} sent to ${outcome.id}\n`;
  if (outcome.status === "removed") return `${outcome.id} removed\n`;
  return `${outcome.id} ended with ${outcome.exitCode ?? "no exit code"}\n`;
}

/** `SIGINT`, `INT`, `int`. */
function parseSignal(text: string): SignalName {
  const name = text.toUpperCase();
  const signal = SignalName.safeParse(name.startsWith("SIG") ? name : `SIG${name}`);
  if (signal.success) return signal.data;
  throw new RangeError(`must be one of ${Object.keys(SIGNALS).join(", ")}`);
}
