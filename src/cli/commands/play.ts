import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { addAbortSignal } from "node:stream";
import { readCast } from "../../protocol/asciicast.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { PlaybackClock, playEvents, Timeline } from "../../protocol/playback.ts";
import { waited } from "../../protocol/waited.ts";
import { command } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { SERVER_FLAGS, type ServerFlags, serverOf } from "../server.ts";
import { findSession } from "../session-reference.ts";
import { hasCtrlC } from "../terminal/detach-keys.ts";
import { Terminal } from "../terminal/terminal.ts";
import { CLEAR_SCREEN } from "../terminal/terminal-modes.ts";

type PlayFlags = ServerFlags & { readonly speed: number; readonly idleLimit: number | undefined };

const SEEK_S = 5;
// biome-ignore lint/suspicious/noControlCharactersInRegex: cursor keys are control sequences
const KEY = /^(?: |\x1b[[O]([CD]))/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: cursor keys are control sequences
const BEGUN_KEY = /^\x1b[[O]?$/;

export const addPlay = command({
  usage: "play <recording>",
  args: { recording: "file, -, or a session's id, beginning of an id, or name" },
  summary: "play a recording on this terminal",
  description:
    "Play a recording on this terminal at its own pace. The space bar pauses, the left and right arrow keys seek 5 seconds, ctrl-c stops. Takes a file in asciicast v2, - for standard input, or a session: of a running one the recording up to now.",
  examples: [
    ["ttyhq play --idle-limit 1 build", "the session named build, without its long pauses"],
    ["ttyhq play --speed 4 demo.cast", "a file, four times as fast"],
  ],
  flags: {
    speed: ["-s, --speed <factor>", "2 is twice as fast", parsePositive, "1"],
    idleLimit: ["-i, --idle-limit <seconds>", "cut longer pauses to this", parsePositive],
    ...SERVER_FLAGS,
  },
  run: (flags, [source = ""], cli) => play(source, flags, cli),
});

async function play(source: string, flags: PlayFlags, cli: Cli): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const terminal = new Terminal(cli);
  const clock = new PlaybackClock({ now: () => performance.now(), speed: flags.speed });
  using scope = new DisposableStack();
  scope.use(terminal.onStop(() => stop.abort()));
  scope.use(terminal.onOutput("error", () => stop.abort()));
  if (source !== "-" && terminal.isInteractive) {
    scope.use(terminal.raw());
    scope.use(terminal.onInput(keysOf(clock, stop), () => stop.abort()));
  }
  scope.defer(() => terminal.restoreModes());
  const write = async (text: string): Promise<void> => {
    terminal.show(Buffer.from(text));
    if (terminal.isFull) await terminal.flushed();
  };
  try {
    for (;;) {
      const { header, events } = await readCast(await open(source, flags, { cli, signal }));
      const timeline = new Timeline(flags.idleLimit ?? header.idle_time_limit);
      const outcome = await playEvents(timeline.of(events), { clock, signal, wait: waited, write });
      if (outcome !== "rewound") return;
      terminal.restoreModes();
      terminal.write(CLEAR_SCREEN);
    }
  } catch (error) {
    // Stopping aborts reads.
    if (!signal.aborted) throw error;
  }
}

/** Takes what is typed. The terminal's replies to queries in the recording are swallowed. */
function keysOf(clock: PlaybackClock, stop: AbortController): (bytes: Uint8Array) => void {
  let keys = "";
  return (bytes) => {
    keys += Buffer.from(bytes).toString();
    if (hasCtrlC(Buffer.from(keys))) stop.abort();
    for (let match = KEY.exec(keys); match !== null; match = KEY.exec(keys)) {
      const [key, arrow] = match;
      keys = keys.slice(key.length);
      if (key === " ") clock.set({ isPaused: !clock.isPaused });
      else clock.set({ position: clock.position + (arrow === "C" ? SEEK_S : -SEEK_S) });
    }
    if (!BEGUN_KEY.test(keys)) keys = "";
  };
}

async function open(
  source: string,
  flags: ServerFlags,
  { cli, signal }: { readonly cli: Cli; readonly signal: AbortSignal },
): Promise<AsyncIterable<Uint8Array>> {
  if (source === "-") return addAbortSignal(signal, cli.stdin);
  const file = await stat(source).catch(() => undefined);
  if (file?.isDirectory() === false) return createReadStream(source, { signal });
  const { client } = await serverOf(flags, cli);
  try {
    const { id } = findSession(source, await client.list(signal));
    return await client.recording(id, { follow: false }, signal);
  } catch (error) {
    // The user may have mistyped the name of a file.
    if (!(error instanceof ServiceError) || error.code === "invalid_request") throw error;
    throw new ServiceError(error.code, `no file ${JSON.stringify(source)}; as a session: ${error.message}`);
  }
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new RangeError("must be a number above 0");
}
