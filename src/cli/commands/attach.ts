import { ServiceError } from "../../protocol/errors.ts";
import { command } from "../command.ts";
import { SERVER_FLAGS, serverOf } from "../server.ts";
import { findSession } from "../session-reference.ts";
import { detachKeysOf } from "../terminal/detach-keys.ts";
import { ATTACHMENT_FLAGS, attachTerminal } from "../terminal/terminal-attachment.ts";

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
    ...ATTACHMENT_FLAGS,
    ...SERVER_FLAGS,
  },
  run: async ({ readOnly = false, quiet = false, ...flags }, [reference = ""], cli) => {
    const server = await serverOf(flags, cli);
    const detachKeys = detachKeysOf(flags.detachKeys, cli.env);
    const session = findSession(reference, await server.client.list());
    if (session.id === cli.env.TTYHQ_SESSION_ID) {
      throw new ServiceError(
        "invalid_request",
        "this terminal is that session: attach from another terminal",
      );
    }
    return await attachTerminal({
      ...{ cli, server, session, command: "attach", detachKeys },
      ...{ isReadOnly: readOnly, isQuiet: quiet },
    });
  },
});
