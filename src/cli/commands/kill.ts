import { actOnEach } from "../../protocol/client/act-on-each.ts";
import type { Client } from "../../protocol/client/client.ts";
import { errorMessage } from "../../protocol/errors.ts";
import { type SessionRecord, SignalName } from "../../protocol/schemas/session.ts";
import { command, ExitCode, jsonText, writeMessage } from "../command.ts";
import { SERVER_FLAGS, serverOf } from "../server.ts";
import { findSession } from "../session-reference.ts";
import { printable } from "../text.ts";

type Outcome =
  | { readonly id: string; readonly status: "exited" | "removed"; readonly exitCode?: number | undefined }
  | { readonly id: string; readonly status: "signalled"; readonly signal: SignalName };

export const addKill = command({
  usage: "kill <session...>",
  args: { session: "ids or names" },
  summary: "end a session, or remove an ended one",
  description:
    "End a running session: SIGHUP and SIGTERM to all of its processes, SIGKILL after 3 seconds. Remove an ended session with its recording. A session is named by its id, the beginning of its id, or its name.",
  examples: [
    ["ttyhq kill build", "ends the session named build"],
    ["ttyhq kill 7f3a 91c0", "ends two, by the beginnings of their ids"],
    ["ttyhq kill --signal SIGINT build", "as ctrl-c would"],
  ],
  flags: {
    signal: ["-s, --signal <name>", "only send this signal to the program in the foreground", parseSignal],
    json: ["--json", "print the outcomes as a JSON array"],
    ...SERVER_FLAGS,
  },
  run: async ({ signal, json, ...flags }, references, cli) => {
    const { client } = await serverOf(flags, cli);
    const sessions = await client.list();
    const { results, failures } = await actOnEach(references, async (reference) =>
      killOne(findSession(reference, sessions), signal, client),
    );
    cli.stdout.write(
      json ? jsonText(results) : results.map((each) => `${printable(sentence(each))}\n`).join(""),
    );
    for (const { error } of failures) writeMessage(cli.stderr, errorMessage(error));
    return failures.length > 0 ? ExitCode.Failed : ExitCode.Ok;
  },
});

async function killOne(
  { id, status: listed }: SessionRecord,
  signal: SignalName | undefined,
  client: Client,
): Promise<Outcome> {
  if (signal !== undefined) {
    await client.kill(id, signal);
    return { id, status: "signalled", signal };
  }
  // One that has ended since it was listed keeps its recording.
  const { status, exitCode } = await (listed === "exited" ? client.remove(id) : client.end(id));
  return { id, status, exitCode };
}

function sentence(outcome: Outcome): string {
  if (outcome.status === "signalled") return `${outcome.signal} sent to ${outcome.id}`;
  if (outcome.status === "removed") return `${outcome.id} removed`;
  return `${outcome.id} ended with ${outcome.exitCode ?? "no exit code"}`;
}

/** `SIGINT`, `INT`, `int`. */
function parseSignal(text: string): SignalName {
  const name = text.toUpperCase();
  const signal = SignalName.safeParse(name.startsWith("SIG") ? name : `SIG${name}`);
  if (signal.success) return signal.data;
  throw new RangeError(`must be one of ${SignalName.options.join(", ")}`);
}
