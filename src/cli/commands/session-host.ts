import { setTimeout as sleep } from "node:timers/promises";
import type { RunningHost } from "../../app.ts";
import { parseHostConfig } from "../../config/config.ts";
import { command } from "../command.ts";
import { configInput, registerOptions } from "../configuration.ts";
import { onSignals } from "../terminal/signals.ts";
import { untilStopped } from "../until-stopped.ts";

const IDLE_CHECK_MS = 30_000;

export const addSessionHost = command({
  usage: "session-host",
  summary: "start a session host alone",
  description:
    "Start a session host: the process that owns the programs and their terminals. A server starts one by itself; start it separately where it runs elsewhere, as in a container of its own.",
  examples: [["ttyhq session-host --control-dir /srv/ttyhq", "serves on /srv/ttyhq/host.sock"]],
  extend: (added) => registerOptions(added, "session-host"),
  run: async (flags, _, cli) => {
    const config = parseHostConfig(await configInput(flags, cli));
    const start = async (): Promise<RunningHost> => {
      const host = await cli.startSessionHost(config);
      // The server that started it waits for this line.
      cli.stdout.write('{"event":"listening"}\n');
      return host;
    };
    // The programs outlive the terminal that the host was started from.
    using _ignored = onSignals(["SIGHUP"], () => undefined);
    const stop = { signals: ["SIGINT", "SIGTERM"], graceMs: config.graceMs } as const;
    await untilStopped(start, stop, config.exitWhenIdle ? untilIdle : undefined);
  },
});

/** Idle at two checks in a row: at the first the process that started it may not have connected yet. */
async function untilIdle(host: RunningHost): Promise<void> {
  let idleChecks = 0;
  while (idleChecks < 2) {
    await sleep(IDLE_CHECK_MS, undefined, { ref: false });
    idleChecks = (await host.idle()) ? idleChecks + 1 : 0;
  }
}
