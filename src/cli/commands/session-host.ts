import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { parseHostConfig } from "../../config/config.ts";
import { registerOptions } from "../../config/sources/flags.ts";
import { examples } from "../command.ts";
import { configInput } from "../configuration.ts";
import type { Cli, RunningHost } from "../process-context.ts";
import { onSignals } from "../terminal/signals.ts";
import { untilStopped } from "../until-stopped.ts";

const IDLE_CHECK_MS = 30_000;

export function addSessionHost(program: Command, cli: Cli): void {
  const command = program
    .command("session-host")
    .summary("start a session host alone")
    .description(
      "Start a session host: the process that the programs and their terminals belong to. A server starts one by itself; start it apart where it should live elsewhere than the server, as in a container of its own.",
    )
    .action(async () => {
      const config = parseHostConfig(await configInput(command.opts(), cli));
      const start = async (): Promise<RunningHost> => {
        const host = await cli.startSessionHost(config);
        // The server that started it waits for this line.
        cli.stdout.write('{"event":"listening"}\n');
        return host;
      };
      // A hang-up is the end of somebody's terminal, not of the programs in ours.
      using _ignored = onSignals(["SIGHUP"], () => undefined);
      const stop = { signals: ["SIGINT", "SIGTERM"], graceMs: config.graceMs } as const;
      await untilStopped(start, stop, config.exitWhenIdle ? untilIdle : undefined);
    });
  registerOptions(command, "session-host");
  command.addHelpText(
    "after",
    examples(["ttyhq session-host --control-dir /srv/ttyhq", "serves on /srv/ttyhq/host.sock"]),
  );
}

/** Idle at two looks in a row: whoever started it may not have got as far as using it at the first. */
async function untilIdle(host: RunningHost): Promise<void> {
  let idleChecks = 0;
  while (idleChecks < 2) {
    await sleep(IDLE_CHECK_MS, undefined, { ref: false });
    idleChecks = (await host.idle()) ? idleChecks + 1 : 0;
  }
}
