import { once } from "node:events";
import { disconnected } from "../../../protocol/client/link.ts";
import { endpoints } from "../../../protocol/endpoints/endpoints.ts";
import { command, ExitCode } from "../../command.ts";
import type { Cli } from "../../process-context.ts";
import { SERVER_FLAGS, type Server, serverOf } from "../../server.ts";
import { findSession } from "../../session-reference.ts";
import { SessionScreen } from "../../terminal/session-screen.ts";
import { type StopSignal, signalExitCode } from "../../terminal/signals.ts";
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
    const terminal = new Terminal(cli);
    const stop = new AbortController();
    // A reader such as `head` leaves the pipe early.
    cli.stdout.once("error", () => stop.abort());
    let exitCode: number = ExitCode.Ok;
    const stopped = (name: StopSignal): void => {
      if (!flags.follow) exitCode = signalExitCode(name);
      stop.abort();
    };
    using _signals = terminal.onStop(stopped);
    const output = { server, cli, terminal, signal: stop.signal };
    await (flags.follow ? follow : print)(id, output);
    return exitCode;
  },
});

type Output = {
  readonly server: Server;
  readonly cli: Cli;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
};

async function print(id: string, { server: { client }, cli, terminal, signal }: Output): Promise<void> {
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

async function follow(id: string, { server: { client, connect }, terminal, signal }: Output): Promise<void> {
  const end = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => end.resolve());
  using socket = await connect("logs");
  using _state = socket.onState((state) => {
    if (state.kind === "closed") end.reject(state.error ?? disconnected());
  });
  const events = { exited: () => end.resolve(), refused: end.reject };
  using screen = new SessionScreen({ socket, client, terminal, sessionId: id, ...events });
  screen.follow(0);
  await end.promise;
}
