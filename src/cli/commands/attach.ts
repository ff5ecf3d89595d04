import type { Command } from "commander";
import { ServiceError } from "../../protocol/errors.ts";
import { addCommand, type Finish } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { addServerOptions, type ServerFlags, serverOf } from "../server.ts";
import { findSession } from "../session-reference.ts";
import { addDetachOption, type DetachFlags, detachKeysOf } from "../terminal/detach-keys.ts";
import { Terminal } from "../terminal/terminal.ts";
import { type AttachmentEnd, attachTerminal, exitNotice } from "../terminal/terminal-attachment.ts";
import { printable } from "../text.ts";

type AttachFlags = ServerFlags & DetachFlags & { readonly readOnly?: true };

export function addAttach(program: Command, cli: Cli, finish: Finish): void {
  addCommand<AttachFlags>(program, {
    usage: "attach",
    summary: "show a session on this terminal and type into it",
    description:
      "Show a session on this terminal and type into it, until its program ends or you detach. The session takes the size of the terminal that was resized last. The exit code is that of the program, 0 when detached.",
    examples: [
      ["ttyhq attach build", "by name"],
      ["ttyhq attach 7f3a --read-only", "view the session whose id begins with 7f3a"],
      ["ttyhq attach build --detach-keys ctrl-p,ctrl-q", "with Docker's keys for detaching"],
    ],
    options: (command) =>
      addServerOptions(
        addDetachOption(
          command
            .argument("<session>", "id, beginning of an id, or name")
            .option("-r, --read-only", "send no input and no resize; ctrl-c detaches"),
        ),
      ),
    run: async (flags, [reference = ""]) => finish(await attach(reference, flags, cli)),
  });
}

async function attach(reference: string, flags: AttachFlags, cli: Cli): Promise<number> {
  const { client, connect } = await serverOf(flags, cli);
  const detachKeys = detachKeysOf(flags, cli.env);
  const session = findSession(reference, await client.list());
  if (session.id === cli.env.TTYHQ_SESSION_ID) {
    throw new ServiceError("invalid_request", "this terminal is that session: attach from another terminal");
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
