import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { addAbortSignal } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../../protocol/errors.ts";
import { command } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { SERVER_FLAGS, type ServerFlags, serverOf } from "../server.ts";
import { findSession } from "../session-reference.ts";
import { playCast, readCast } from "../terminal/cast.ts";
import { onSignals } from "../terminal/signals.ts";
import { Terminal } from "../terminal/terminal.ts";

type PlayFlags = ServerFlags & { readonly speed: number; readonly idleLimit: number | undefined };

const CTRL_C = 0x03;

export const addPlay = command({
  usage: "play <recording>",
  args: { recording: "file, -, or a session's id, beginning of an id, or name" },
  summary: "play a recording on this terminal",
  description:
    "Play a recording on this terminal at its own pace; ctrl-c stops. Takes a file in asciicast v2, - for standard input, or a session: of a running one the recording up to now.",
  examples: [
    ["ttyhq play --idle-limit 1 build", "the session named build, without its long pauses"],
    ["ttyhq play --speed 4 demo.cast", "a file, four times as fast"],
  ],
  flags: {
    speed: ["-s, --speed <factor>", "2 is twice as fast", parsePositive, 1],
    idleLimit: ["-i, --idle-limit <seconds>", "cut longer pauses to this", parsePositive],
    ...SERVER_FLAGS,
  },
  run: (flags, [source = ""], cli) => play(source, flags, cli),
});

async function play(source: string, flags: PlayFlags, cli: Cli): Promise<void> {
  const stop = new AbortController();
  using _signals = onSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => stop.abort());
  try {
    await show(source, flags, { cli, stop });
  } catch (error) {
    // Stopping aborts reads.
    if (!stop.signal.aborted) throw error;
  }
}

async function show(
  source: string,
  flags: PlayFlags,
  { cli, stop }: { readonly cli: Cli; readonly stop: AbortController },
): Promise<void> {
  const cast = await readCast(await open(source, flags, { cli, signal: stop.signal }));
  const terminal = new Terminal(cli);
  using scope = new DisposableStack();
  if (source !== "-" && terminal.isInteractive) {
    scope.use(terminal.raw());
    // Swallows the terminal's replies to queries in the recording.
    const typed = (bytes: Uint8Array): void => void (bytes.includes(CTRL_C) && stop.abort());
    scope.use(terminal.onInput(typed, () => stop.abort()));
  }
  scope.defer(() => terminal.restoreModes());
  await playCast(cast, {
    speed: flags.speed,
    idleLimit: flags.idleLimit,
    write: async (text) => {
      terminal.show(Buffer.from(text));
      if (terminal.isFull) await terminal.flushed();
    },
    now: () => performance.now(),
    wait: async (ms, signal) => await sleep(ms, undefined, { signal }),
    signal: stop.signal,
  });
}

async function open(
  source: string,
  flags: ServerFlags,
  { cli, signal }: { readonly cli: Cli; readonly signal: AbortSignal },
): Promise<AsyncIterable<Uint8Array>> {
  if (source === "-") return addAbortSignal(signal, cli.stdin);
  if (await isFile(source)) return createReadStream(source, { signal });
  const { client } = await serverOf(flags, cli);
  try {
    const { id } = findSession(source, await client.list());
    return await client.recording(id, { follow: false }, signal);
  } catch (error) {
    // The user may have mistyped the name of a file.
    if (!(error instanceof ServiceError) || error.code === "invalid_request") throw error;
    throw new ServiceError(error.code, `no file ${JSON.stringify(source)}; as a session: ${error.message}`);
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new RangeError("must be a number above 0");
}
