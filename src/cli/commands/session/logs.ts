import { once } from "node:events";
import { disconnected } from "../../../protocol/client/link.ts";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { command } from "../../command.ts";
import type { Cli } from "../../process-context.ts";
import { SERVER_FLAGS, type Server, serverOf } from "../../server.ts";
import { findSession } from "../../session-reference.ts";
import { SessionScreen } from "../../terminal/session-screen.ts";
import { onSignals } from "../../terminal/signals.ts";
import { Terminal } from "../../terminal/terminal.ts";

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
    const stop = new AbortController();
    // A reader such as `head` leaves the pipe early.
    cli.stdout.once("error", () => stop.abort());
    await (flags.follow ? follow : print)(id, server, cli, stop.signal);
  },
});

async function print(id: string, { client }: Server, cli: Cli, signal: AbortSignal): Promise<void> {
  const terminal = new Terminal(cli);
  try {
    const request = { params: { id }, query: {} };
    const { body } = await client.stream(endpoints.sessionOutput, request, signal);
    for await (const bytes of body) {
      terminal.show(bytes);
      if (cli.stdout.writableNeedDrain) await once(cli.stdout, "drain", { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    terminal.restoreModes();
  }
}

async function follow(id: string, { client, connect }: Server, cli: Cli, signal: AbortSignal): Promise<void> {
  const end = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => end.resolve());
  using _signals = onSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => end.resolve());
  using socket = await connect("logs");
  using _state = socket.onState((state) => {
    if (state.kind === "closed") end.reject(state.error ?? disconnected());
  });
  const events = { exited: () => end.resolve(), refused: end.reject };
  using screen = new SessionScreen({ socket, client, terminal: new Terminal(cli), sessionId: id, ...events });
  screen.follow(0);
  await end.promise;
}
