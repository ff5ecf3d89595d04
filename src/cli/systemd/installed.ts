import { Command } from "commander";
import { parseHostConfig } from "../../config/config.ts";
import { registerOptions } from "../../config/sources/flags.ts";
import { findSystemAccount } from "../../lib/os/system-account.ts";
import { createClient } from "../../protocol/client/client.ts";
import { configInput } from "../configuration.ts";
import type { ProcessContext } from "../process-context.ts";
import { localSockets } from "../server.ts";
import { isNobodyThere, socketSend } from "../socket-send.ts";
import { execWords } from "./exec-line.ts";

/** The control directory of a unit of the session host, as that would find it. Throws ConfigError. */
export async function controlDirOfUnit(unitText: string, surroundings: ProcessContext): Promise<string> {
  const words = execWords(/^ExecStart=(.*)$/m.exec(unitText)?.[1] ?? "");
  const command = new Command().exitOverride();
  registerOptions(command, "session-host");
  command.parse([...words.slice(words.indexOf("session-host") + 1)], { from: "user" });
  const runAs = /^User=(.*)$/m.exec(unitText)?.[1];
  const account = runAs === undefined ? undefined : await findSystemAccount(runAs);
  const home = account?.home ?? surroundings.home;
  return parseHostConfig(await configInput(command.opts(), { ...surroundings, home, env: {} })).controlDir;
}

/** How many programs run in the sessions of a control directory. */
export async function runningSessions(controlDir: string): Promise<number> {
  const client = createClient(socketSend([localSockets(controlDir).host]));
  try {
    return (await client.list()).filter(({ status }) => status !== "exited").length;
  } catch (error) {
    if (isNobodyThere(error)) return 0;
    throw error;
  }
}
