// The servers of a local cluster, and the command line of each.
import { join } from "node:path";
import { isOwnVariable } from "../../lib/os/own-variables.ts";

/** Credentials of the HQ; generated for the run and not stored. */
export type ClusterCredentials = { readonly username: string; readonly password: string };

export type ClusterOptions = {
  /** Absolute. */
  readonly controlDir: string;
  /** Of the HQ; 0 for any free one. */
  readonly port: number;
  readonly remotes: number;
  readonly credentials: ClusterCredentials;
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

export function hqPlan({ controlDir, port, credentials, joinToken, env }: ClusterOptions): ServerPlan {
  const { username, password } = credentials;
  const directory = join(controlDir, HQ_NAME);
  return {
    ...{ name: HQ_NAME, controlDir: directory, port },
    args: [
      ...[...commonArgs(directory), "--hq", "--login-link"],
      ...["--no-basic-join", "--join-token-name", "remote-*"],
    ],
    env: {
      ...commonEnv(env, credentials),
      ...{ TTYHQ_USERNAME: username, TTYHQ_PASSWORD: password, TTYHQ_JOIN_TOKEN: joinToken },
    },
  };
}

export function remotePlans(options: ClusterOptions, hqUrl: string): readonly ServerPlan[] {
  const { controlDir, credentials, joinToken, env } = options;
  return remoteNames(options.remotes).map((name) => {
    const directory = join(controlDir, name);
    return {
      ...{ name, controlDir: directory, port: 0 },
      args: [...commonArgs(directory), "--name", name, "--hq-url", hqUrl, "--allow-insecure-hq"],
      env: { ...commonEnv(env, credentials), TTYHQ_JOIN_TOKEN: joinToken },
    };
  });
}

export function remoteNames(remotes: number): readonly string[] {
  return Array.from({ length: remotes }, (_, index) => `remote-${index + 1}`);
}

/** Without rate limits: only the user who started the cluster has the credentials. */
function commonArgs(controlDir: string): readonly string[] {
  return [
    ...["--bind", "127.0.0.1", "--control-dir", controlDir, "--log-format", "text"],
    ...["--rate-limit-api", "0", "--rate-limit-sessions", "0", "--json", "--stop-with-input"],
  ];
}

/** Without variables that configure other servers of this user. */
function commonEnv(
  env: ClusterOptions["env"],
  { username, password }: ClusterCredentials,
): ServerPlan["env"] {
  const others = Object.entries(env).filter(([name]) => !isOwnVariable(name));
  return { ...Object.fromEntries(others), SERVICE_USERNAME: username, SERVICE_PASSWORD: password };
}
