import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { ConfigInput } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Option, type Role, type Spelling, spellingsOf } from "../config/options/option.ts";
import { OPTIONS, optionsFor } from "../config/options/options.ts";
import { absolutePath, type ConfigFile, type Flags, givenFor, sourceName } from "../config/sources/given.ts";
import { checkTrustedPath, readTrustedFile } from "../lib/fs/trusted-path.ts";
import { errorMessage } from "../protocol/errors.ts";
import type { ProcessContext } from "./process-context.ts";

/** Declares every option of a role, without defaults, so that an absent flag differs from one with the default. */
export function registerOptions(command: Command, role: Role): void {
  for (const option of optionsFor(role)) {
    for (const spelling of spellingsOf(option)) {
      const { flag, placeholder } = spelling;
      if (flag === undefined) continue;
      const flags = placeholder === undefined ? flag : `${flag} <${placeholder}>`;
      if (option.shape === "list") command.option(flags, describe(option, spelling), append);
      else command.option(flags, describe(option, spelling));
    }
  }
}

function describe(option: Option, { isPath }: Spelling): string {
  const { prose, shape } = option;
  if (shape === "secret" && isPath) return `${prose} Read from this file.`;
  if (shape === "secret") return `${prose} Visible to other users of the machine; the file is not.`;
  if (shape === "list") return `${prose} May be repeated.`;
  return shape === "value" && option.fallbackText !== "" ? `${prose} (${option.fallbackText})` : prose;
}

function append(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

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
async function contentOf(path: string, maxBytes: number) {
  checkTrustedPath(path);
  await using file = await open(path);
  const { mode } = await file.stat();
  const pieces: Buffer[] = await file.createReadStream({ end: maxBytes, autoClose: false }).toArray();
  return { bytes: Buffer.concat(pieces), mode };
}
