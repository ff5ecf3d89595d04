// For tests of the configuration: a command line and an environment as sources.
import { Command } from "commander";
import { registerOptions } from "../../../src/cli/configuration.ts";
import { type Config, parseConfig } from "../../../src/config/config.ts";
import { ConfigError } from "../../../src/config/config-error.ts";
import type { Role } from "../../../src/config/options/option.ts";
import type { Secret } from "../../../src/lib/secret.ts";

export type Env = Readonly<Record<string, string | undefined>>;

const FILES: Readonly<Record<string, string>> = {
  "/run/secrets/password": "s3cret\n",
  "/run/secrets/windows": "s3cret\r\n",
  "/run/secrets/empty": "\n",
  "/work/jwt": `${"j".repeat(32)}\n`,
  "/home/me/jwt": "k".repeat(40),
};

/** The sources that main.ts has for `ttyhq serve ARGUMENTS`. */
export function input(commandLine: string, env: Env = {}, role: Role = "server") {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  registerOptions(command, role);
  command.parse(
    commandLine.split(" ").filter((word) => word !== ""),
    { from: "user" },
  );
  const readFile = (path: string): Uint8Array => {
    const text = FILES[path];
    if (text === undefined) throw new Error(`ENOENT: no such file, open '${path}'`);
    return new TextEncoder().encode(text);
  };
  return {
    flags: command.opts(),
    env,
    readFile,
    home: "/home/me",
    user: "me",
    cwd: "/work",
    hostname: "box",
  };
}

export const serve = (commandLine: string, env: Env = {}): Config => parseConfig(input(commandLine, env));

export function problems(commandLine: string, env: Env = {}): readonly string[] {
  try {
    serve(commandLine, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

export function reveal(secret: Secret | undefined): string | undefined {
  return secret && new TextDecoder().decode(secret.bytes());
}

export function passwordOf({ auth }: Config): string | undefined {
  if (auth.mode !== "login" || auth.password?.kind !== "configured") return undefined;
  return reveal(auth.password.password);
}
