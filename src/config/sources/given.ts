// What was given for an option, and which of several places counts.
import { dirname, isAbsolute, join, resolve } from "node:path";
import { envOf, fileEnvOf, fileKeyOf, flagOf, type Option, plainFlagOf } from "../options/option.ts";
import type { ConfigFile } from "./config-file.ts";
import { type Flags, flagTexts, plainFlagTexts } from "./flags.ts";
import type { Source } from "./source.ts";

/** Where options come from. */
export type Sources = {
  readonly flags: Flags;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration file, where there is one. */
  readonly file?: ConfigFile;
  /** The home directory of the user that the process runs as, and where it was started. */
  readonly home: string;
  readonly cwd: string;
  /** The bytes of a file at an absolute path; throws when there are none to be had. */
  readonly readFile: (path: string) => Uint8Array;
};

export type Given = {
  /** In order; the last one counts, but for a list. */
  readonly texts: readonly string[];
  readonly source: Source;
  /** True of a secret: what is given is the path of a file with it. */
  readonly isInFile: boolean;
};

/**
 * What counts for an option: flags before variables, variables before the configuration file. Two for a secret that one
 * of these gives both itself and as a file; none where the default holds.
 */
export function givenFor(option: Option, sources: Sources): readonly Given[] {
  const { flags, env, file } = sources;
  const ways = [() => byFlags(option, flags), () => byVariables(option, env), () => byFile(option, file)];
  for (const way of ways) {
    const given = way();
    if (given.length > 0) return given;
  }
  return [];
}

function byFlags(option: Option, flags: Flags): readonly Given[] {
  const plain = byFlag(plainFlagOf(option), plainFlagTexts(flags, option), false);
  return [...plain, ...byFlag(flagOf(option), flagTexts(flags, option), option.shape === "secret")];
}

function byFlag(name: string | undefined, texts: readonly string[], isInFile: boolean): readonly Given[] {
  if (name === undefined || texts.length === 0) return [];
  return [{ texts, source: { kind: "flag", name }, isInFile }];
}

function byVariables(option: Option, env: Sources["env"]): readonly Given[] {
  const own = byVariable(envOf(option), env, false);
  if (option.shape === "secret") return [...own, ...byVariable(fileEnvOf(option), env, true)];
  if (option.shape !== "list") return own;
  return own.map((given) => ({ ...given, texts: given.texts.flatMap(listItems) }));
}

/** An empty variable is none: that is how compose files write one that is not set. */
function byVariable(name: string, env: Sources["env"], isInFile: boolean): readonly Given[] {
  const text = env[name];
  // Kubernetes sets NAME_PORT=tcp://… in every pod for a service of that name, so TTYHQ_PORT for `ttyhq`.
  if (name.endsWith("_PORT") && text?.startsWith("tcp://")) return [];
  if (text === undefined || text === "") return [];
  return [{ texts: [text], source: { kind: "variable", name }, isInFile }];
}

function listItems(text: string): readonly string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function byFile(option: Option, file: ConfigFile | undefined): readonly Given[] {
  const own = byKey(option.name, file, false);
  return option.shape === "secret" ? [...own, ...byKey(fileKeyOf(option), file, true)] : own;
}

function byKey(key: string, file: ConfigFile | undefined, isInFile: boolean): readonly Given[] {
  const entry = file?.entries.get(key);
  return entry === undefined ? [] : [{ ...entry, isInFile }];
}

/** What a path means that stands there. The shell expands `~` in a flag of its own word; elsewhere nobody does. */
export function absolutePath(
  path: string,
  { kind }: { readonly kind: Source["kind"] | "default" },
  sources: Pick<Sources, "home" | "cwd" | "file">,
): string {
  const { home, cwd, file } = sources;
  if (path === "~" || path.startsWith("~/")) return join(home, path.slice(1));
  if (isAbsolute(path)) return resolve(path);
  return resolve(kind === "file" && file !== undefined ? dirname(file.path) : cwd, path);
}
