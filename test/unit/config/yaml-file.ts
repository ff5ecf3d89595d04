// For tests of configuration files.
import { parseConfig } from "../../../src/config/config.ts";
import { ConfigError } from "../../../src/config/config-error.ts";
import { parseConfigFile } from "../../../src/config/sources/config-file.ts";
import type { ConfigFile } from "../../../src/config/sources/given.ts";
import { type Env, input } from "./command-line.ts";

export const PRIVATE = 0o600;

/** A file at /work/config.yaml, beside the files of command-line.ts. */
export function configFile(text: string | Uint8Array, mode = PRIVATE): ConfigFile {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return parseConfigFile({ path: "/work/config.yaml", name: "config.yaml", bytes, mode });
}

export function fromFile(text: string, commandLine = "", env: Env = {}) {
  return parseConfig({ ...input(commandLine, env), file: configFile(text) });
}

/** The problems of a file and of the configuration that it gives. */
export function fileProblems(text: string | Uint8Array, mode = PRIVATE): readonly string[] {
  try {
    parseConfig({ ...input(""), file: configFile(text, mode) });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
