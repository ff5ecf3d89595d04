// `ttyhq service`: the server as a service of systemd.
import type { Command } from "commander";
import { registerOptions } from "../../config/sources/flags.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { examples } from "../examples.ts";
import { ExitCode, type Finish } from "../exit-code.ts";
import { writeMessage } from "../message.ts";
import type { Cli } from "../process-context.ts";
import { filesOf, install, uninstall } from "./installation.ts";
import { controlDirOfUnit, runningSessions } from "./installed.ts";
import { lingerNotice } from "./linger.ts";
import { placeOf } from "./place.ts";
import { type InstallFlags, servicePlan, textOf } from "./plan.ts";
import { isRunning, statusJson, statusText, unitStates } from "./status.ts";
import { Systemctl } from "./systemctl.ts";
import type { Scope } from "./unit-file.ts";

type ScopeFlags = { readonly user?: true };
type UninstallFlags = ScopeFlags & { readonly endSessions?: true };

const OF_USER = "your own service, of systemctl --user, and not the machine's";

export function addSystemd(program: Command, cli: Cli, finish: Finish): void {
  const command = program
    .command("service")
    .summary("have systemd run a server, now and after every start of the machine")
    .description(
      "Have systemd run a server and its session host, as two units: the server can be restarted, upgraded or killed, and the programs go on.",
    )
    .addHelpText(
      "after",
      examples(
        ["sudo ttyhq service install", "for the users of this machine"],
        ["ttyhq service install --user --bind 127.0.0.1 --login-link", "for yourself"],
        ["ttyhq service install --dry-run", "prints what would be written"],
        ["ttyhq service status", "what runs"],
        ["sudo ttyhq service uninstall", "recordings stay"],
      ),
    );
  addInstall(command, cli);
  addUninstall(command, cli);
  addStatusOf(command, cli, finish);
}

function addInstall(parent: Command, cli: Cli): void {
  const command = parent
    .command("install")
    .summary("write the units and start them")
    .description(
      "Write the units and start them. Options of ttyhq serve go into the unit; the configuration file, /etc/ttyhq/config.yaml or ~/.config/ttyhq/config.yaml without --config, is made where there is none, and is yours. Does nothing where nothing is to be done.",
    )
    .option("--user", OF_USER)
    .option("--run-as <name>", "run the machine's service as this user, and not as root")
    .option("--dry-run", "print the files, and write and start nothing")
    .allowExcessArguments(false)
    .action(async (flags: InstallFlags) => await installService(flags, cli));
  registerOptions(command, "server");
}

async function installService(flags: InstallFlags, cli: Cli): Promise<void> {
  const scope = scopeOf(flags);
  // Whoever may not, or cannot, is to hear of that first.
  const systemctl = flags.dryRun === true ? undefined : managerOf(scope, cli);
  const plan = await servicePlan(flags, cli);
  for (const notice of plan.notices) writeMessage(cli.stderr, `warning: ${notice}`);
  if (systemctl === undefined) {
    const files = [...filesOf(plan)].map(([path, text]) => `# ${path}\n${text}`);
    cli.stdout.write(files.join("\n"));
    return;
  }
  await install(plan, systemctl, teller(cli));
  if (scope === "user") lingerNotice(cli.user, teller(cli));
}

function addUninstall(parent: Command, cli: Cli): void {
  parent
    .command("uninstall")
    .summary("stop them and remove the units")
    .description(
      "Stop server and session host and remove what install wrote. Recordings stay where they are.",
    )
    .option("--user", OF_USER)
    .option("--end-sessions", "even where programs run, which it ends")
    .allowExcessArguments(false)
    .action(async (flags: UninstallFlags) => await uninstallService(flags, cli));
}

async function uninstallService(flags: UninstallFlags, cli: Cli): Promise<void> {
  const scope = scopeOf(flags);
  const place = placeOf(scope, cli);
  const tell = teller(cli);
  const unit = textOf(place.hostUnit);
  if (unit === undefined && textOf(place.serverUnit) === undefined) {
    tell("nothing is installed");
    return;
  }
  const systemctl = managerOf(scope, cli);
  const controlDir = unit === undefined ? undefined : await controlDirOfUnit(unit, cli);
  const running = controlDir === undefined ? 0 : await runningSessions(controlDir);
  if (running > 0 && flags.endSessions !== true) {
    const what = running === 1 ? "a program runs in a session" : `programs run in ${running} sessions`;
    throw new ServiceError("session_running", `${what} of ${controlDir}: --end-sessions ends them`);
  }
  await uninstall(place, systemctl, tell);
  if (controlDir !== undefined) tell(`recordings and keys stay in ${controlDir}`);
}

function addStatusOf(parent: Command, cli: Cli, finish: Finish): void {
  parent
    .command("status")
    .summary("say what of it runs")
    .description("Say what of the service is installed and runs. Ends with 1 where not all of it does.")
    .option("--user", OF_USER)
    .option("--json", "print it as JSON")
    .allowExcessArguments(false)
    .action(async (flags: ScopeFlags & { readonly json?: true }) => {
      const states = await unitStates(new Systemctl(scopeOf(flags), cli));
      cli.stdout.write(flags.json === true ? statusJson(states) : statusText(states));
      if (!states.every(isRunning)) finish(ExitCode.Failed);
    });
}

/** Throws `forbidden` for whoever is not root and wants to change the machine's. */
function managerOf(scope: Scope, cli: Cli): Systemctl {
  const systemctl = new Systemctl(scope, cli);
  if (scope === "user" || process.getuid?.() === 0) return systemctl;
  throw new ServiceError(
    "forbidden",
    "the machine's services are root's: run this with sudo, or give --user",
  );
}

function scopeOf({ user }: ScopeFlags): Scope {
  return user === true ? "user" : "system";
}

function teller(cli: Cli): (line: string) => void {
  return (line) => void cli.stdout.write(`${line}\n`);
}
