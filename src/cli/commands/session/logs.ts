import { once } from "node:events";
import type { Command } from "commander";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { addCommand } from "../../command.ts";
import type { Cli } from "../../process-context.ts";
import { addServerOptions, type Server, type ServerFlags, serverOf } from "../../server.ts";
import { findSession } from "../../session-reference.ts";
import { onSignals } from "../../terminal/signals.ts";

type LogsFlags = ServerFlags & { readonly follow?: true };

export function addLogs(program: Command, cli: Cli): void {
  addCommand<LogsFlags>(program, {
    usage: "logs",
    summary: "print the output of a session",
    description:
      "Print the output of a session from its beginning, byte for byte; with --follow until the session ends.",
    examples: [
      ["ttyhq logs build | grep -i error", "lines of a build with errors"],
      ["ttyhq logs --follow build", "as it is written"],
    ],
    options: (command) =>
      addServerOptions(
        command
          .argument("<session>", "id, beginning of an id, or name")
          .option("-f, --follow", "continue until the session ends; ctrl-c stops"),
      ),
    run: (flags, [reference = ""]) => print(reference, flags, cli),
  });
}

async function print(reference: string, flags: LogsFlags, cli: Cli): Promise<void> {
  const server = await serverOf(flags, cli);
  const { id } = findSession(reference, await server.client.list());
  if (flags.follow) return await follow(id, server, cli);
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
  using socket = connect("logs");
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
