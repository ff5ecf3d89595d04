import { ServiceError } from "../../protocol/errors.ts";
import { command } from "../command.ts";
import { SERVER_FLAGS, serverOf } from "../server.ts";
import { findSession } from "../session-reference.ts";
import { DETACH_FLAGS, detachKeysOf } from "../terminal/detach-keys.ts";
import { Terminal } from "../terminal/terminal.ts";
import { attachTerminal, exitNotice } from "../terminal/terminal-attachment.ts";
import { printable } from "../text.ts";

export const addAttach = command({
  usage: "attach <session>",
  args: { session: "id, beginning of an id, or name" },
  summary: "show a session on this terminal and type into it",
  description:
    "Show a session on this terminal and type into it, until its program ends or you detach. The session takes the size of the terminal that was resized last. The exit code is that of the program, 0 when detached.",
  examples: [
    ["ttyhq attach build", "by name"],
    ["ttyhq attach 7f3a --read-only", "view the session whose id begins with 7f3a"],
    ["ttyhq attach build --detach-keys ctrl-p,ctrl-q", "with Docker's keys for detaching"],
  ],
  flags: {
    readOnly: ["-r, --read-only", "send no input and no resize; ctrl-c detaches"],
    ...DETACH_FLAGS,
    ...SERVER_FLAGS,
  },
  run: async (flags, [reference = ""], cli) => {
    const { client, connect } = await serverOf(flags, cli);
    const detachKeys = detachKeysOf(flags.detachKeys, cli.env);
    const session = findSession(reference, await client.list());
    if (session.id === cli.env.TTYHQ_SESSION_ID) {
      throw new ServiceError(
        "invalid_request",
        "this terminal is that session: attach from another terminal",
      );
    }
    using socket = connect("attach");
    const end = await attachTerminal({
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
  },
});
