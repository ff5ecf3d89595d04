import { once } from "node:events";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { command } from "../../command.ts";
import type { Cli } from "../../process-context.ts";
import { SERVER_FLAGS, type Server, serverOf } from "../../server.ts";
import { findSession } from "../../session-reference.ts";
import { onSignals } from "../../terminal/signals.ts";

export const addLogs = command({
  usage: "logs <session>",
  args: { session: "id, beginning of an id, or name" },
  summary: "print the output of a session",
  description:
    "Print the output of a session from its beginning, byte for byte; with --follow until the session ends.",
  examples: [
    ["ttyhq logs build | grep -i error", "lines of a build with errors"],
    ["ttyhq logs --follow build", "as it is written"],
  ],
  flags: { follow: ["-f, --follow", "continue until the session ends; ctrl-c stops"], ...SERVER_FLAGS },
  run: async (flags, [reference = ""], cli) => {
    const server = await serverOf(flags, cli);
    const { id } = findSession(reference, await server.client.list());
    await (flags.follow ? follow(id, server, cli) : print(id, server, cli));
  },
});

async function print(id: string, server: Server, cli: Cli): Promise<void> {
  const { body } = await server.client.stream(
    endpoints.sessionOutput,
    { params: { id }, query: {} },
    new AbortController().signal,
  );
  for await (const bytes of body) {
    if (!cli.stdout.write(bytes)) await once(cli.stdout, "drain");
  }
}

async function follow(id: string, { connect }: Server, cli: Cli): Promise<void> {
  const end = Promise.withResolvers<void>();
  using _signals = onSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => end.resolve());
  using socket = await connect("logs");
  using attachment = socket.attach(
    id,
    { from: 0 },
    {
      onOutput: ({ bytes }) => {
        if (cli.stdout.write(bytes)) return;
        attachment.pause();
        cli.stdout.once("drain", () => attachment.resume());
      },
      onResync: ({ bytes }) => void cli.stdout.write(bytes),
      onEvent: ({ kind }) => void (kind === "exit" && end.resolve()),
      onError: (error) => end.reject(error),
    },
  );
  await end.promise;
}
