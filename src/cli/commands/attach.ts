import type { Command } from "commander";
import { ServiceError } from "../../protocol/errors.ts";
import { examples, type Finish } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../server.ts";
import { findSession } from "../session-reference.ts";
import { addDetachOption, type DetachFlags, detachKeysOf } from "../terminal/detach-keys.ts";
import { Terminal } from "../terminal/terminal.ts";
import { type AttachmentEnd, attachTerminal, exitNotice } from "../terminal/terminal-attachment.ts";
import { printable } from "../text.ts";

type AttachFlags = ServerFlags & DetachFlags & { readonly readOnly?: true };

export function addAttach(program: Command, cli: Cli, finish: Finish): void {
  const command = program
    .command("attach")
    .summary("show a session on this terminal and type into it")
    .description(
      "Show a session on this terminal and type into it, until its program ends or you detach. The session takes this terminal's size; of several, that of the one that was resized last. Ends with the program's exit code, 0 when detached.",
    )
    .argument("<session>", "id, beginning of an id, or name")
    .option("-r, --read-only", "only look: nothing is typed or resized, and ctrl-c detaches")
    .action(async (reference: string, flags: AttachFlags) => finish(await attach(reference, flags, cli)));
  addServerOptions(addDetachOption(command)).addHelpText(
    "after",
    examples(
      ["ttyhq attach build", "by name"],
      ["ttyhq attach 7f3a --read-only", "looks at the session whose id begins so"],
      ["ttyhq attach build --detach-keys ctrl-p,ctrl-q", "detaches as Docker does"],
    ),
  );
}

async function attach(reference: string, flags: AttachFlags, cli: Cli): Promise<number> {
  const { client, connect } = serverOf(flags, cli);
  const detachKeys = detachKeysOf(flags, cli.env);
  const session = findSession(reference, await client.list());
  if (session.id === cli.env.TTYHQ_SESSION_ID) {
    throw new ServiceError(
      "invalid_request",
      "this terminal is that session: it would show itself in itself",
    );
  }
  using socket = connect("attach");
  const end: AttachmentEnd = await attachTerminal({
    socket,
    client,
    terminal: new Terminal(cli),
    sessionId: session.id,
    from: "screen",
    isReadOnly: flags.readOnly ?? false,
    detachKeys,
    inputEnd: "detach",
  });
  if (end.kind === "exited") cli.stderr.write(`[${printable(session.name)} ended with ${end.exitCode}]\n`);
  return exitNotice(end, session, cli.stderr);
}
