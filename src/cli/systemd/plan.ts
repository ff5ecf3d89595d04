import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type Config, type ConfigInput, parseConfig } from "../../config/config.ts";
import { ConfigError } from "../../config/config-error.ts";
import type { Flags } from "../../config/sources/given.ts";
import { OptionReader } from "../../config/sources/reader.ts";
import { flagWords } from "../../config/sources/settings.ts";
import { isOwnVariable } from "../../lib/os/own-variables.ts";
import { findSystemAccount, type SystemAccount } from "../../lib/os/system-account.ts";
import { configInput } from "../configuration.ts";
import type { ProcessContext } from "../process-context.ts";
import { HOST_UNIT, type Scope, SERVER_UNIT, systemctlCommand, type UnitPlan } from "./unit-file.ts";

type InstallFlags = Flags & { readonly runAs: string | undefined };

export type ServicePlan = {
  readonly place: Place;
  readonly unit: UnitPlan;
  readonly isNewConfig: boolean;
  readonly account: SystemAccount | undefined;
  readonly notices: readonly string[];
};

/** Throws ConfigError for an invalid configuration. */
export async function servicePlan(
  flags: InstallFlags,
  scope: Scope,
  context: ProcessContext,
): Promise<ServicePlan> {
  const account = await accountOf(flags, scope);
  const identity = account === undefined ? {} : { user: account.name, home: account.home };
  // The service does not get the variables of this shell.
  const from = { ...context, ...identity, env: {} };
  const place = placeOf(scope, context);
  const named = typeof flags.config === "string" ? flags.config : undefined;
  const isNew = named === undefined && !existsSync(place.configFile);
  const input = isNew
    ? await firstInput(flags, { from, place })
    : await configInput({ ...flags, config: named ?? place.configFile }, from);
  const config = parseConfig(input);
  const reader = new OptionReader(input);
  const { words, visible } = flagWords(reader, "server", ["flag"]);
  refuse(flags, visible, config);
  const hostWords = flagWords(reader, "session-host", ["flag"]).words;
  const file = ["--config", input.file?.path ?? place.configFile];
  return {
    ...{ place, account, isNewConfig: isNew },
    unit: {
      ...{ note: NOTE, graceMs: config.graceMs },
      ...{ scope, runAs: account?.name, program: [context.program.node, context.program.main] },
      ...{ serverFlags: [...file, ...words], hostFlags: [...file, ...hostWords] },
      clientFlags: flags.controlDir === undefined ? file : ["--control-dir", config.controlDir],
    },
    notices: [...config.warnings, ...variableNotices(context.env)],
  };
}

const NOTE = "Written by ttyhq service install, which overwrites it: systemctl edit keeps changes apart.";

async function accountOf({ runAs }: InstallFlags, scope: Scope): Promise<SystemAccount | undefined> {
  if (runAs === undefined) return undefined;
  if (scope === "user")
    throw new ConfigError(["--run-as is for the machine's service: a user's runs as that user"]);
  const account = await findSystemAccount(runAs);
  if (account === undefined)
    throw new ConfigError([`--run-as: there is no user ${JSON.stringify(runAs)} here`]);
  return account;
}

/** As if the new configuration file existed. */
async function firstInput(
  flags: InstallFlags,
  { from, place }: { readonly from: ProcessContext; readonly place: Place },
): Promise<ConfigInput> {
  const { parseConfigFile } = await import("../../config/sources/config-file.ts");
  const bytes = new TextEncoder().encode(place.firstConfig);
  const file = parseConfigFile({ path: place.configFile, name: place.configFile, bytes, mode: 0o600 });
  return { ...(await configInput(flags, from)), file };
}

function refuse(flags: InstallFlags, visible: readonly string[], { sessionHost }: Config): void {
  const problems = visible.map(
    (flag) =>
      `${flag}: everybody on this machine can read the unit: give ${flag}-file, or put it into the configuration file`,
  );
  if (flags.sessionHost !== undefined || sessionHost !== "apart") {
    problems.push(
      "session-host: the service has a session host of its own, as a unit beside it: leave the option out",
    );
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

function variableNotices(env: ProcessContext["env"]): readonly string[] {
  const names = Object.keys(env).filter((name) => isOwnVariable(name) && env[name] !== "");
  if (names.length === 0) return [];
  return [
    `${names.join(" and ")}: set here, but not for the service, which has its options from the configuration file`,
  ];
}

export function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

export type Place = {
  readonly serverUnit: string;
  readonly hostUnit: string;
  readonly configFile: string;
  readonly firstConfig: string;
};

export function placeOf(scope: Scope, { env, home }: Pick<ProcessContext, "env" | "home">): Place {
  const { XDG_CONFIG_HOME: named = "" } = env;
  // By the XDG Base Directory Specification a relative path is ignored.
  const ofUser = isAbsolute(named) ? named : join(home, ".config");
  const config = scope === "system" ? "/etc" : ofUser;
  const units = join(config, "systemd", scope);
  const configFile = join(config, "ttyhq", "config.yaml");
  return {
    serverUnit: join(units, SERVER_UNIT),
    hostUnit: join(units, HOST_UNIT),
    configFile,
    firstConfig: firstConfig(scope, configFile),
  };
}

function firstConfig(scope: Scope, path: string): string {
  return [
    "# Options of ttyhq serve, by name. To print the result:",
    `#   ttyhq config --config ${path}`,
    "# To apply it, while programs in sessions keep running:",
    `#   ${systemctlCommand(scope)} restart ttyhq`,
    ...(scope === "system" ? ["control-dir: /var/lib/ttyhq"] : []),
    "# bind: 127.0.0.1",
    "# port: 4020",
    "",
  ].join("\n");
}
