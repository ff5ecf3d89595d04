// `ttyhq service`: the server as a service of systemd.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { parseHostConfig } from "../../config/config.ts";
import { ConfigError } from "../../config/config-error.ts";
import { findSystemAccount } from "../../lib/os/system-account.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { command, ExitCode, group, jsonText, writeMessage } from "../command.ts";
import { configInput, registerOptions } from "../configuration.ts";
import type { Cli, ProcessContext } from "../process-context.ts";
import { clientAt, localSockets, unlessListening } from "../server.ts";
import { table } from "../text.ts";
import { filesOf, install, type Tell, uninstall } from "./installation.ts";
import { placeOf, servicePlan, textOf } from "./plan.ts";
import { Systemctl } from "./systemctl.ts";
import { execWords, HOST_UNIT, type Scope, SERVER_UNIT } from "./unit-file.ts";

const USER = ["--user", "your own service, of systemctl --user, instead of the machine's"] as const;

const addInstall = command({
  usage: "install",
  summary: "write the units and start them",
  description:
    "Write the units and start them. Options of ttyhq serve go into the unit. The configuration file, /etc/ttyhq/config.yaml or ~/.config/ttyhq/config.yaml without --config, is created once and then yours. A second run changes nothing.",
  flags: {
    user: USER,
    runAs: ["--run-as <name>", "run the machine's service as this user instead of root"],
    dryRun: ["--dry-run", "print the files without writing or starting anything"],
  },
  extend: (added) => registerOptions(added, "server"),
  run: async (flags, _, cli) => {
    const scope = scopeOf(flags.user);
    // Missing permissions are reported first.
    const systemctl = flags.dryRun ? undefined : managerOf(scope, cli);
    const plan = await servicePlan(flags, scope, cli);
    for (const notice of plan.notices) writeMessage(cli.stderr, `warning: ${notice}`);
    if (systemctl === undefined) {
      const files = [...filesOf(plan)].map(([path, text]) => `# ${path}\n${text}`);
      cli.stdout.write(files.join("\n"));
      return;
    }
    const tell = teller(cli);
    await install(plan, systemctl, tell);
    if (scope === "user" && !existsSync(join(LINGERING, cli.user))) tell(LINGER_NOTICE);
  },
});

const addUninstall = command({
  usage: "uninstall",
  summary: "stop them and remove the units",
  description: "Stop server and session host and remove the files that install wrote. Recordings stay.",
  flags: { user: USER, endSessions: ["--end-sessions", "end running programs as well"] },
  run: async ({ user, endSessions }, _, cli) => {
    const scope = scopeOf(user);
    const place = placeOf(scope, cli);
    const tell = teller(cli);
    const unit = textOf(place.hostUnit);
    if (unit === undefined && textOf(place.serverUnit) === undefined) {
      tell("nothing is installed");
      return;
    }
    const systemctl = managerOf(scope, cli);
    const mayEnd = endSessions === true;
    const controlDir = unit === undefined ? undefined : await controlDirToLeave(unit, { scope, mayEnd }, cli);
    await uninstall(place, systemctl, tell);
    if (controlDir !== undefined) tell(`recordings and keys stay in ${controlDir}`);
  },
});

const addStatusOf = command({
  usage: "status",
  summary: "show the state of the units",
  description: "Show the state of the units. The exit code is 1 unless both run.",
  flags: { user: USER, json: ["--json", "print it as JSON"] },
  run: async ({ user, json }, _, cli) => {
    const systemctl = new Systemctl(scopeOf(user), cli);
    const states = await Promise.all([SERVER_UNIT, HOST_UNIT].map((unit) => unitState(systemctl, unit)));
    cli.stdout.write(json ? jsonText(states) : statusText(states));
    return states.every(({ state }) => state === "active") ? ExitCode.Ok : ExitCode.Failed;
  },
});

export const addSystemd = group(
  "service",
  {
    summary: "run a server as a service of systemd",
    description:
      "Run a server and its session host as two units of systemd: the server can be restarted, upgraded or killed while the programs continue.",
    examples: [
      ["sudo ttyhq service install", "for the users of this machine"],
      ["ttyhq service install --user --bind 127.0.0.1 --login-link", "for yourself"],
      ["ttyhq service install --dry-run", "print the units only"],
      ["ttyhq service status", "their state"],
      ["sudo ttyhq service uninstall", "recordings stay"],
    ],
  },
  [addInstall, addUninstall, addStatusOf],
);

/** Throws `forbidden` for the machine's services without root. */
function managerOf(scope: Scope, cli: Cli): Systemctl {
  const systemctl = new Systemctl(scope, cli);
  if (scope === "user" || process.getuid?.() === 0) return systemctl;
  throw new ServiceError(
    "forbidden",
    "the machine's services are root's: run this with sudo, or give --user",
  );
}

function scopeOf(user: true | undefined): Scope {
  return user ? "user" : "system";
}

function teller(cli: Cli): Tell {
  return (line) => void cli.stdout.write(`${line}\n`);
}

/** Users whose services run without a login, as files of logind. */
const LINGERING = "/var/lib/systemd/linger";
const LINGER_NOTICE =
  "it ends when you log out, programs included: loginctl enable-linger lets it go on, and starts it with the machine";

/** The control directory of a session host's unit. Throws ConfigError. */
export async function controlDirOfUnit(
  unitText: string,
  scope: Scope,
  context: ProcessContext,
): Promise<string> {
  const words = execWords(/^ExecStart=(.*)$/m.exec(unitText)?.[1] ?? "");
  const command = new Command().exitOverride();
  registerOptions(command, "session-host");
  command.parse([...words.slice(words.indexOf("session-host") + 1)], { from: "user" });
  // sudo may keep another user's HOME.
  const user = /^User=(.*)$/m.exec(unitText)?.[1] ?? (scope === "system" ? "root" : undefined);
  const account = user === undefined ? undefined : await findSystemAccount(user);
  const home = account?.home ?? context.home;
  return parseHostConfig(await configInput(command.opts(), { ...context, home, env: {} })).controlDir;
}

/**
 * As `controlDirOfUnit`; throws `session_running` if programs run there. If they may end, the session host is not asked,
 * and an invalid or missing configuration file is `undefined`.
 */
export async function controlDirToLeave(
  unitText: string,
  { scope, mayEnd }: { readonly scope: Scope; readonly mayEnd: boolean },
  context: ProcessContext,
): Promise<string | undefined> {
  try {
    const controlDir = await controlDirOfUnit(unitText, scope, context);
    if (!mayEnd) await refuseRunning(controlDir);
    return controlDir;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (mayEnd) return undefined;
    const hint =
      "so it is unknown whether programs run: restore the file, or give --end-sessions to end them";
    throw new ConfigError([...error.problems, hint]);
  }
}

async function refuseRunning(controlDir: string): Promise<void> {
  const sessions = await clientAt(localSockets(controlDir).host).list().catch(unlessListening);
  const running = (sessions ?? []).filter(({ status }) => status !== "exited").length;
  if (running === 0) return;
  const what = running === 1 ? "a program runs in a session" : `programs run in ${running} sessions`;
  throw new ServiceError("session_running", `${what} of ${controlDir}: --end-sessions ends them`);
}

type UnitState = {
  readonly unit: string;
  /** A state of systemd such as `active`, or `not installed`. */
  readonly state: string;
  /** `enabled` where it starts with the machine. */
  readonly atStart: string;
  readonly pid?: number;
  readonly restarts: number;
};

const PROPERTIES = ["LoadState", "ActiveState", "UnitFileState", "MainPID", "NRestarts"];

function statusText(states: readonly UnitState[]): string {
  const rows = states.map(({ unit, state, atStart, pid = "", restarts }) => {
    return [unit, state, atStart, `${pid}`, `${restarts}`];
  });
  return table(["UNIT", "STATE", "AT START", "PID", "RESTARTS"], rows);
}

async function unitState(systemctl: Systemctl, unit: string): Promise<UnitState> {
  const properties = await systemctl.properties(unit, PROPERTIES);
  const isThere = properties.get("LoadState") === "loaded";
  const pid = Number(properties.get("MainPID"));
  return {
    unit,
    state: isThere ? (properties.get("ActiveState") ?? "") : "not installed",
    atStart: properties.get("UnitFileState") ?? "",
    ...(pid > 0 ? { pid } : {}),
    restarts: Number(properties.get("NRestarts") ?? 0),
  };
}
