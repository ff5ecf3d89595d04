import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { integer } from "../../config/options/value.ts";
import { DEFAULT_PORT } from "../../protocol/limits.ts";
import { command, ExitCode, jsonText, writeMessage } from "../command.ts";
import type { Cli } from "../process-context.ts";
import { controlDirOf } from "../server.ts";
import { onSignals, STOP_SIGNALS, signalExitCode } from "../terminal/signals.ts";
import { table } from "../text.ts";
import { inputEnd } from "../until-stopped.ts";
import { type ClusterReport, startCluster } from "./cluster.ts";
import { type ClusterOptions, remoteNames } from "./plan.ts";

const MAX_REMOTES = 50;
const USERNAME = "ttyhq";
const PASSWORD_BYTES = 24;
const JOIN_TOKEN_BYTES = 32;

type UpFlags = { readonly remotes: number; readonly port: number; readonly controlDir?: string | undefined };
type UpMode = { readonly json: true | undefined; readonly stopWithInput: true | undefined };

export const addUp = command({
  usage: "up",
  summary: "run an HQ and some remotes on this machine, to try them out",
  description:
    "Run an HQ and some remotes on this machine, to try them out: processes on loopback that end with this command, as do the programs in their sessions. A process that ends by itself is restarted. Logs and recordings stay in the control directories.",
  examples: [
    ["ttyhq up --remotes 3", "an HQ and three remotes, with a link that logs your browser in"],
    ["ttyhq ls --control-dir ~/.ttyhq/up/hq", "the sessions of all of them"],
    ["ttyhq run --control-dir ~/.ttyhq/up/remote-1 -- top", "a program on the first remote"],
    ["ttyhq up --port 0 --json", "for a script, which uses Basic at the HQ and ends it with SIGTERM"],
  ],
  flags: {
    remotes: ["-n, --remotes <number>", "number of remotes", integer(1, MAX_REMOTES), "2"],
    port: [
      "-p, --port <number>",
      "port of the HQ, 0 for any free one",
      integer(0, 65_535),
      `${DEFAULT_PORT}`,
    ],
    controlDir: ["--control-dir <path>", "directory of the servers' own control directories (~/.ttyhq/up)"],
    json: [
      "--json",
      'print one line {"event": "up", "url", "loginLink", "username", "password", "controlDir", "remotes"}',
    ],
    stopWithInput: ["--stop-with-input", "stop when standard input ends, as when its writer dies"],
  },
  run: (flags, _, cli) => up(flags, cli),
});

/** Runs until a signal, also during the start. A second signal ends it without waiting for the servers. */
async function up(flags: UpFlags & UpMode, cli: Cli): Promise<number> {
  const started = performance.now();
  const options = clusterOptions(flags, cli);
  const [stop, hurry] = [new AbortController(), new AbortController()];
  let exitCode: number = ExitCode.Ok;
  const notice = (message: string): void => writeMessage(cli.stderr, message);
  if (flags.stopWithInput) void inputEnd(cli.stdin).then(() => stop.abort());
  using listening = onSignals(STOP_SIGNALS, (signal) => {
    if (stop.signal.aborted) {
      listening[Symbol.dispose]();
      exitCode = signalExitCode(signal);
      hurry.abort();
    } else {
      notice("stopping everything; once more to not wait for it");
      stop.abort();
    }
  });
  try {
    const parts = { ...options, notice, program: cli.program, hurry: hurry.signal };
    await using cluster = await startCluster(parts, stop.signal);
    const view = { seconds: (performance.now() - started) / 1000, width: cli.stdout.columns };
    cli.stdout.write(flags.json ? reportJson(cluster) : reportText(cluster, view));
    if (!stop.signal.aborted) await once(stop.signal, "abort");
  } catch (error) {
    if (error !== stop.signal.reason) throw error;
  }
  return exitCode;
}

export function clusterOptions(flags: UpFlags, cli: Cli): ClusterOptions {
  const { remotes, port } = flags;
  const controlDir = controlDirOf(flags.controlDir ?? join(controlDirOf(undefined, cli), "up"), cli);
  // The paths of sockets in the longest one must not be too long.
  controlDirOf(join(controlDir, remoteNames(remotes).at(-1) ?? ""), cli);
  const credentials = { username: USERNAME, password: random(PASSWORD_BYTES) };
  return { controlDir, port, remotes, credentials, joinToken: random(JOIN_TOKEN_BYTES), env: cli.env };
}

function random(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}

export function reportJson({ loginLink, credentials, servers }: ClusterReport): string {
  const [{ url, controlDir }, ...remotes] = servers;
  return jsonText({ event: "up", url, loginLink, ...credentials, controlDir, remotes });
}

export function reportText(
  { loginLink, servers }: ClusterReport,
  { seconds, width }: { readonly seconds: number; readonly width: number | undefined },
): string {
  const [hq, ...remotes] = servers;
  const rows = servers.map(({ name, url, controlDir }) => [name, url, controlDir]);
  return [
    `an HQ and ${remotes.length} ${remotes.length === 1 ? "remote" : "remotes"}, up in ${seconds.toFixed(1)} s\n`,
    `log in with this link, once and within 10 minutes: ${loginLink}\n\n`,
    table(["MACHINE", "ADDRESS", "CONTROL DIRECTORY"], rows, width),
    `\nanother link: ttyhq login-link --control-dir ${hq.controlDir}\n`,
    "Ctrl-C ends all of it, the programs in its sessions included\n",
  ].join("");
}
