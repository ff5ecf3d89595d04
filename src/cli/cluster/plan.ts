// The servers of a local cluster, and the command line of each.
import { join } from "node:path";
import { isOwnVariable } from "../../lib/os/own-variables.ts";

export type ClusterOptions = {
  /** Absolute. */
  readonly controlDir: string;
  /** Of the HQ; 0 for any free one. */
  readonly port: number;
  readonly remotes: number;
  /** Of the HQ; generated for the run and not stored. */
  readonly credentials: { readonly username: string; readonly password: string };
  readonly joinToken: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

export type NamedServer = { readonly name: string; readonly controlDir: string };

export type ServerPlan = NamedServer & {
  /** 0 for any free one. */
  readonly port: number;
  /** Of `ttyhq serve`, beside --port; every user of the machine can read them. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
};

export type ServerReport = NamedServer & { readonly url: string };

const HQ_NAME = "hq";

export function hqPlan(options: ClusterOptions): ServerPlan {
  const args = ["--hq", "--login-link", "--no-basic-join", "--join-token-name", "remote-*"];
  return serverPlan(options, HQ_NAME, options.port, args);
}

export function remotePlans(options: ClusterOptions, hqUrl: string): readonly ServerPlan[] {
  return remoteNames(options.remotes).map((name) =>
    serverPlan(options, name, 0, ["--name", name, "--hq-url", hqUrl, "--allow-insecure-hq"]),
  );
}

export function remoteNames(remotes: number): readonly string[] {
  return Array.from({ length: remotes }, (_, index) => `remote-${index + 1}`);
}

/**
 * Without rate limits: only the user who started the cluster has the credentials. Without variables that configure other
 * servers of this user.
 */
function serverPlan(
  options: ClusterOptions,
  name: string,
  port: number,
  ownArgs: readonly string[],
): ServerPlan {
  const { credentials, joinToken } = options;
  const controlDir = join(options.controlDir, name);
  const others = Object.entries(options.env).filter(([variable]) => !isOwnVariable(variable));
  return {
    ...{ name, controlDir, port },
    args: [
      ...["--bind", "127.0.0.1", "--control-dir", controlDir, "--log-format", "text"],
      ...["--rate-limit-api", "0", "--rate-limit-sessions", "0", "--json", "--stop-with-input"],
      ...ownArgs,
    ],
    env: {
      ...Object.fromEntries(others),
      ...{ SERVICE_USERNAME: credentials.username, SERVICE_PASSWORD: credentials.password },
      TTYHQ_JOIN_TOKEN: joinToken,
    },
  };
}
