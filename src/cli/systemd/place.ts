import { join } from "node:path";
import type { ProcessContext } from "../process-context.ts";
import { HOST_UNIT, type Scope, SERVER_UNIT } from "./unit-file.ts";

/** Where the files of a service are. */
export type Place = {
  readonly serverUnit: string;
  readonly hostUnit: string;
  /** The configuration file, where none is named. */
  readonly configFile: string;
  /** What it begins with. */
  readonly firstConfig: string;
};

export function placeOf(scope: Scope, { env, home }: Pick<ProcessContext, "env" | "home">): Place {
  const config = scope === "system" ? "/etc" : env.XDG_CONFIG_HOME || join(home, ".config");
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
  const restart = scope === "system" ? "systemctl restart ttyhq" : "systemctl --user restart ttyhq";
  return [
    "# The options of ttyhq serve by their names. What they come to:",
    `#   ttyhq config --config ${path}`,
    "# and, while the programs in its terminals go on, to make it so:",
    `#   ${restart}`,
    ...(scope === "system" ? ["control-dir: /var/lib/ttyhq"] : []),
    "# bind: 127.0.0.1",
    "# port: 4020",
    "",
  ].join("\n");
}
