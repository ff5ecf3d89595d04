import { existsSync } from "node:fs";
import { chown, mkdir, readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "../../lib/fs/atomic-file.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { type Place, type ServicePlan, textOf } from "./plan.ts";
import type { Systemctl } from "./systemctl.ts";
import { HOST_UNIT, hostUnit, SERVER_UNIT, serverUnit, systemctlCommand } from "./unit-file.ts";

export type Tell = (line: string) => void;

const UNIT_MODE = 0o644;
const OWN_CONFIG_MODE = 0o600;
const GROUP_CONFIG_MODE = 0o640;

/** Content by path, with the configuration file if it is new. */
export function filesOf({ place, unit, isNewConfig }: ServicePlan): ReadonlyMap<string, string> {
  return new Map([
    ...(isNewConfig ? [[place.configFile, place.firstConfig] as const] : []),
    [place.hostUnit, hostUnit(unit)],
    [place.serverUnit, serverUnit(unit)],
  ]);
}

/**
 * Writes missing files and enables and starts the units. Idempotent, also after a failure; sessions continue. Throws
 * `start_failed` with the end of the log.
 */
export async function install(
  plan: ServicePlan,
  systemctl: Pick<Systemctl, "run" | "ask" | "properties" | "log">,
  tell: Tell,
): Promise<void> {
  await writeFiles(plan, tell);
  const { serverUnit: server, hostUnit: host } = plan.place;
  await systemctl.run("daemon-reload");
  try {
    await systemctl.run("enable", "--now", HOST_UNIT, SERVER_UNIT);
    if (await isOutdated(SERVER_UNIT, server, systemctl)) await systemctl.run("restart", SERVER_UNIT);
  } catch (cause) {
    throw await startFailure(cause, systemctl);
  }
  tell(`${SERVER_UNIT} and ${HOST_UNIT} run, now and after every start of the machine`);
  if (await isOutdated(HOST_UNIT, host, systemctl)) {
    const restart = `${systemctlCommand(plan.unit.scope)} restart ttyhq-session-host`;
    tell(
      `${HOST_UNIT} keeps its programs and its former settings; ${restart} applies the new ones and ends the programs`,
    );
  }
}

/** Whether the process of a unit is older than the unit's file, perhaps because an earlier install failed in between. */
async function isOutdated(
  unit: string,
  path: string,
  systemctl: Pick<Systemctl, "properties">,
): Promise<boolean> {
  const property = "ExecMainStartTimestampMonotonic";
  const startedUs = Number((await systemctl.properties(unit, [property])).get(property));
  const { mtimeMs } = await stat(path);
  return Number(process.hrtime.bigint() / 1_000n) - startedUs > (Date.now() - mtimeMs) * 1_000;
}

async function writeFiles(plan: ServicePlan, tell: Tell): Promise<void> {
  for (const [path, text] of filesOf(plan)) {
    if (textOf(path) === text) {
      tell(`${path} is as it has to be`);
      continue;
    }
    await mkdir(dirname(path), { recursive: true });
    await replaceFile(path, new TextEncoder().encode(text), modeOf(path, plan));
    if (path === plan.place.configFile && plan.account !== undefined) await chown(path, 0, plan.account.gid);
    tell(`wrote ${path}`);
  }
}

/** The service's user may read the configuration file, but not change it. */
function modeOf(path: string, { place, account }: ServicePlan): number {
  if (path !== place.configFile) return UNIT_MODE;
  return account === undefined ? OWN_CONFIG_MODE : GROUP_CONFIG_MODE;
}

async function startFailure(cause: unknown, systemctl: Pick<Systemctl, "ask" | "log">): Promise<unknown> {
  if (!(cause instanceof ServiceError)) return cause;
  const hasHost = (await systemctl.ask("is-active", "--quiet", HOST_UNIT)).code === 0;
  const failed = hasHost ? SERVER_UNIT : HOST_UNIT;
  const lines = (await systemctl.log(failed)).map((line) => `  ${line}`);
  return new ServiceError("start_failed", [cause.message, ...lines].join("\n"), { cause });
}

/**
 * Stops both with all sessions and removes the files of `install`, except a changed configuration file. Completes an
 * uninstall that was interrupted.
 */
export async function uninstall(
  place: Place,
  systemctl: Pick<Systemctl, "run" | "ask">,
  tell: Tell,
): Promise<void> {
  const both = [
    [SERVER_UNIT, place.serverUnit],
    [HOST_UNIT, place.hostUnit],
  ] as const;
  // systemctl fails for a unit without a file.
  const installed = both.filter(([, path]) => existsSync(path));
  await systemctl.run("disable", "--now", ...installed.map(([unit]) => unit));
  for (const [, path] of installed) {
    await rm(path);
    tell(`removed ${path}`);
  }
  await systemctl.run("daemon-reload");
  // Fails for units without a failure.
  await systemctl.ask("reset-failed", SERVER_UNIT, HOST_UNIT);
  await removeConfig(place, tell);
}

async function removeConfig({ configFile, firstConfig }: Place, tell: Tell): Promise<void> {
  const text = textOf(configFile);
  if (text === undefined) return;
  if (text !== firstConfig) {
    tell(`${configFile} was changed, and stays`);
    return;
  }
  await rm(configFile);
  if ((await readdir(dirname(configFile))).length === 0) await rmdir(dirname(configFile));
  tell(`removed ${configFile}`);
}
