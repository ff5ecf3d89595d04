// The sources of options: flags before variables, variables before the configuration file.
import { dirname, isAbsolute, join, resolve } from "node:path";
import { type Option, type Spelling, spellingsOf } from "../options/option.ts";

/** The result of commander's `opts()`: texts, lists of texts and booleans by camel-case name. */
export type Flags = Readonly<Record<string, unknown>>;

export type Source =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "variable"; readonly name: string }
  | FileSource;

/** `path` as it was given; line and column count from 1. */
export type FileSource = {
  readonly kind: "file";
  readonly name: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
};

export type ConfigFile = {
  /** Absolute. Relative paths in the file are relative to its directory. */
  readonly path: string;
  /** By key: the name of an option, or of a secret's file. */
  readonly entries: ReadonlyMap<string, ConfigEntry>;
  readonly problems: readonly string[];
};

/** One text, or the texts of a list, as written: `0123` and `yes` stay texts. */
export type ConfigEntry = { readonly texts: readonly string[]; readonly source: FileSource };

export type Sources = {
  readonly flags: Flags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file?: ConfigFile;
  /** The home directory of the user that the process runs as. */
  readonly home: string;
  readonly cwd: string;
  /** The content of the file at an absolute path; throws if it cannot be read. */
  readonly readFile: (path: string) => Uint8Array;
};

export type Given = {
  /** In order; the last one counts, except for a list. */
  readonly texts: readonly string[];
  readonly source: Source;
  /** Each text is a path. */
  readonly isPath: boolean;
};

/** Two for a secret that one source gives both directly and as a file; none if the default applies. */
export function givenFor(option: Option, { flags, env, file }: Sources): readonly Given[] {
  const bySource: readonly ((spelling: Spelling) => Omit<Given, "isPath"> | undefined)[] = [
    ({ flag: name = "" }) => ({ texts: flagTexts(flags, name), source: { kind: "flag", name } }),
    ({ variable: name }) => ({ texts: variableTexts(env, name, option), source: { kind: "variable", name } }),
    ({ key }) => file?.entries.get(key),
  ];
  for (const given of bySource) {
    const found = spellingsOf(option).flatMap((spelling) => {
      const entry = given(spelling);
      const isGiven = entry !== undefined && (entry.texts.length > 0 || entry.source.kind === "file");
      return isGiven ? [{ ...entry, isPath: spelling.isPath }] : [];
    });
    if (found.length > 0) return found;
  }
  return [];
}

/** Commander stores a flag by its name in camel case; `--no-x` sets `x` to false. */
function flagTexts(flags: Flags, flag: string): readonly string[] {
  const name = flag.replace(/^--(?:no-)?/, "");
  const given = flags[name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
  if (given === !flag.startsWith("--no-")) return ["true"];
  return [given].flat().filter((text) => typeof text === "string");
}

/** An empty variable counts as not set: compose files write an unset variable like that. */
function variableTexts(env: Sources["env"], name: string, { shape }: Option): readonly string[] {
  const text = env[name] ?? "";
  // Kubernetes sets NAME_PORT=tcp://… in every pod for a service of that name, so TTYHQ_PORT for `ttyhq`.
  if (text === "" || (name.endsWith("_PORT") && text.startsWith("tcp://"))) return [];
  if (shape !== "list") return [text];
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** The start of a message about a source: `--port`, `TTYHQ_PORT`, `config.yaml:3:7: port`. */
export function sourceName(source: Source): string {
  return source.kind === "file" ? `${placeName(source)}: ${source.name}` : source.name;
}

/** As editors and compilers write a place. */
export function placeName({ path, line, column }: Omit<FileSource, "kind" | "name">): string {
  return `${path}:${line}:${column}`;
}

/** Only a shell expands `~`, and only at the start of a word. */
export function absolutePath(
  path: string,
  { kind }: { readonly kind: Source["kind"] | "default" },
  { home, cwd, file }: Pick<Sources, "home" | "cwd" | "file">,
): string {
  if (path === "~" || path.startsWith("~/")) return join(home, path.slice(1));
  if (isAbsolute(path)) return resolve(path);
  return resolve(kind === "file" && file !== undefined ? dirname(file.path) : cwd, path);
}
