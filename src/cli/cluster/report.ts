// What `ttyhq up` says of a cluster that runs.

import { table } from "../table.ts";
import type { ClusterCredentials } from "./plan.ts";

export type MachineReport = { readonly name: string; readonly url: string; readonly controlDir: string };

export type ClusterReport = {
  readonly url: string;
  readonly loginLink: string;
  readonly credentials: ClusterCredentials;
  /** The HQ first. */
  readonly machines: readonly [hq: MachineReport, ...remotes: MachineReport[]];
};

/** One line, with everything that a program needs to talk to the HQ and to each remote. */
export function reportJson({ url, loginLink, credentials, machines }: ClusterReport): string {
  const [hq, ...remotes] = machines;
  return `${JSON.stringify({
    ...{ event: "up", url, loginLink, ...credentials, controlDir: hq.controlDir },
    remotes: remotes.map(({ name, url, controlDir }) => ({ name, url, controlDir })),
  })}\n`;
}

/** `seconds` that the start took; `width` of the terminal in columns, `undefined` where nothing needs to be cut. */
export function reportText(
  { loginLink, machines }: ClusterReport,
  { seconds, width }: { readonly seconds: number; readonly width: number | undefined },
): string {
  const [hq, ...remotes] = machines;
  const rows = machines.map(({ name, url, controlDir }) => [name, url, controlDir]);
  return [
    `an HQ and ${remotes.length} ${remotes.length === 1 ? "remote" : "remotes"}, up in ${seconds.toFixed(1)} s\n`,
    `log in with this link, once and within 10 minutes: ${loginLink}\n\n`,
    table(["MACHINE", "ADDRESS", "CONTROL DIRECTORY"], rows, width),
    `\nanother link: ttyhq login-link --control-dir ${hq.controlDir}\n`,
    "Ctrl-C ends all of it, the programs in its sessions included\n",
  ].join("");
}
