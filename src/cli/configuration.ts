import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { ConfigInput } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { OPTIONS } from "../config/options/options.ts";
import type { Flags } from "../config/sources/flags.ts";
import { absolutePath, type ConfigFile, givenFor, sourceName } from "../config/sources/given.ts";
import { checkTrustedPath, readTrustedFile } from "../lib/fs/trusted-path.ts";
import { errorMessage } from "../protocol/errors.ts";
import type { ProcessContext } from "./process-context.ts";

/** The sources of the configuration. Throws ConfigError for an invalid or unreadable configuration file. */
export async function configInput(flags: Flags, context: ProcessContext): Promise<ConfigInput> {
  const { env, home, user, cwd, hostname } = context;
  const sources = { flags, env, home, cwd, readFile: readTrustedFile };
  const file = await namedFile(sources);
  return { ...sources, user, hostname, ...(file === undefined ? {} : { file }) };
}

/** Loads the YAML parser only for a configuration file: that takes longer than most commands. */
async function namedFile(sources: Omit<ConfigInput, "user" | "hostname">): Promise<ConfigFile | undefined> {
  const [given] = givenFor(OPTIONS.config, sources);
  const name = given?.texts.at(-1);
  if (given === undefined || name === undefined) return undefined;
  const { MAX_CONFIG_FILE_BYTES, parseConfigFile } = await import("../config/sources/config-file.ts");
  const path = absolutePath(name, given.source, sources);
  try {
    return parseConfigFile({ path: resolve(path), name, ...(await contentOf(path, MAX_CONFIG_FILE_BYTES)) });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const reason = errorMessage(error);
    throw new ConfigError([`${sourceName(given.source)}: cannot read the file: ${reason}`]);
  }
}

/** At most one byte more than `maxBytes`, which the parser refuses. */
async function contentOf(
  path: string,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly mode: number }> {
  checkTrustedPath(path);
  await using file = await open(path);
  const { mode } = await file.stat();
  const pieces: Buffer[] = await file.createReadStream({ end: maxBytes, autoClose: false }).toArray();
  return { bytes: Buffer.concat(pieces), mode };
}
