// The configuration file: a YAML mapping from option names to values.
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { nearest } from "../../lib/nearest.ts";
import { ConfigError } from "../config-error.ts";
import { type Option, spellingsOf } from "../options/option.ts";
import { OPTIONS } from "../options/options.ts";
import { type ConfigEntry, type ConfigFile, type FileSource, placeName, sourceName } from "./given.ts";

export const MAX_CONFIG_FILE_BYTES = 64 * 1024;
/** Bounds the work for aliases: nothing nests, so each stands for at most one list. */
const MAX_ALIASES = 100;
/** Of an invalid file the first problems are enough. */
const MAX_SYNTAX_PROBLEMS = 5;
const READABLE_BY_ALL = 0o004;
const WRITABLE_BY_ALL = 0o002;

type ConfigFileContent = {
  /** Absolute. */
  readonly path: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Permissions of the file. */
  readonly mode: number;
};

/** ConfigError for a file that is not a YAML mapping; problems with single options are in `problems`. */
export function parseConfigFile(content: ConfigFileContent): ConfigFile {
  const { path, name, mode } = content;
  const reader = new FileReader(name, parsed(content));
  const entries = reader.entries();
  const problems = [...reader.problems, ...permissionProblems(name, mode, entries)];
  return { path, entries, problems };
}

const OPTION_OF: ReadonlyMap<string, Option> = new Map(
  Object.values<Option>(OPTIONS)
    .filter((option) => option !== OPTIONS.config)
    .flatMap((option) => spellingsOf(option).map(({ key }) => [key, option] as const)),
);

type Parsed = { readonly document: Document.Parsed; readonly lines: LineCounter };

function parsed({ name, bytes }: ConfigFileContent): Parsed {
  if (bytes.length > MAX_CONFIG_FILE_BYTES) {
    throw new ConfigError([`${name}: has more than ${MAX_CONFIG_FILE_BYTES} bytes`]);
  }
  const text = textOf(name, bytes);
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    // Duplicate keys are reported below, with both places; excerpts could show a secret.
    document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
  } catch (error) {
    // For too deep nesting.
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError([`${name}: must be a mapping from names of options to their values`]);
  }
  const wrong = [...document.errors, ...document.warnings].slice(0, MAX_SYNTAX_PROBLEMS);
  if (wrong.length === 0) return { document, lines };
  throw new ConfigError(
    wrong.map(({ pos, code, message }) => {
      const { line, col } = lines.linePos(pos[0]);
      return `${placeName({ path: name, line, column: col })}: ${WITHOUT_TEXT.get(code) ?? message}`;
    }),
  );
}

/** Replace messages that quote the file, which may contain secrets. */
const WITHOUT_TEXT: ReadonlyMap<string, string> = new Map([
  ["BAD_ALIAS", "is not an alias: put a text that begins with * between quotes"],
  ["BAD_DIRECTIVE", "is not a directive of YAML"],
  ["BAD_DQ_ESCAPE", "is not an escape of a text between double quotes, where \\\\ stands for a backslash"],
  ["TAG_RESOLVE_FAILED", "tags are not taken: put a text that begins with ! between quotes"],
  ["UNEXPECTED_TOKEN", "is not valid YAML: unexpected text"],
]);

function textOf(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError([`${name}: must be text in UTF-8`]);
  }
}

class FileReader {
  readonly problems: string[] = [];
  readonly #path: string;
  readonly #parsed: Parsed;
  #aliases = 0;

  constructor(path: string, from: Parsed) {
    this.#path = path;
    this.#parsed = from;
  }

  entries(): ReadonlyMap<string, ConfigEntry> {
    const { contents } = this.#parsed.document;
    const entries = new Map<string, ConfigEntry>();
    if (contents === null || isNothing(contents)) return entries;
    if (!isMap(contents)) throw new ConfigError([`${this.#place(contents)}: ${NO_MAPPING}`]);
    for (const { key, value } of contents.items) this.#add(entries, key, value);
    return entries;
  }

  #add(entries: Map<string, ConfigEntry>, key: Node, value: Node | null): void {
    const name = this.#text(key);
    const option = OPTION_OF.get(name ?? "");
    const first = entries.get(name ?? "");
    const refuse = (problem: string): void => void this.problems.push(`${this.#place(key)}: ${problem}`);
    if (name === undefined) refuse("must be the name of an option");
    else if (option === undefined) refuse(unknown(name));
    else if (first !== undefined) refuse(`${name}: given twice, first in line ${first.source.line}`);
    else {
      const source = this.#source(value ?? key, name);
      entries.set(name, { source, texts: this.#texts(value, option, source) });
    }
  }

  #texts(value: Node | null, { shape }: Option, source: FileSource): readonly string[] {
    const node = this.#resolved(value);
    const isList = isSeq(node) && node.tag === undefined && shape === "list";
    return (isList ? node.items.map((item) => this.#resolved(item)) : [node]).flatMap((each) => {
      const text = this.#text(each);
      if (text !== undefined) return [text];
      const wanted = shape === "list" ? "a list of texts" : "one text, number or truth value";
      const empty = !isList && isNothing(each) ? ", and is empty: give one, or leave the option out" : "";
      this.problems.push(`${sourceName(source)}: must be ${wanted}${empty}`);
      return [];
    });
  }

  /** As written; `undefined` for anything but a scalar without a tag of its own. */
  #text(node: unknown): string | undefined {
    if (!isScalar(node) || node.value === null || (node.tag ?? TEXT_TAG) !== TEXT_TAG) return undefined;
    return typeof node.value === "string" ? node.value : node.source;
  }

  #resolved(node: unknown): unknown {
    if (!isAlias(node)) return node;
    this.#aliases += 1;
    const found = node.resolve(this.#parsed.document);
    if (this.#aliases <= MAX_ALIASES && found !== undefined) return found;
    const unknownAlias = "nothing above has this name: put a text that begins with * between quotes";
    const tooMany = `is an alias more than the ${MAX_ALIASES} that a file may have`;
    throw new ConfigError([`${this.#place(node)}: ${found === undefined ? unknownAlias : tooMany}`]);
  }

  #place(node: Node): string {
    return placeName(this.#source(node, ""));
  }

  #source(node: Node, name: string): FileSource {
    const { line, col } = this.#parsed.lines.linePos(node.range?.[0] ?? 0);
    return { kind: "file", name, path: this.#path, line, column: col };
  }
}

const TEXT_TAG = "tag:yaml.org,2002:str";
const NO_MAPPING = "must be a mapping from names of options to their values, such as port: 4020";

function isNothing(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

function unknown(name: string): string {
  if (name === OPTIONS.config.name) return `${name}: a configuration file names no other`;
  // Users may write it as a flag, a variable or in camel case.
  const wanted = name
    .replace(/^--|^TTYHQ_/, "")
    .replaceAll("_", "-")
    .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase();
  const meant = nearest(wanted, [...OPTION_OF.keys()], Math.max(1, wanted.length / 2));
  const shown = JSON.stringify(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name);
  return `there is no option ${shown}${meant === undefined ? ": ttyhq serve --help lists them" : `; did you mean ${meant}?`}`;
}

const MAX_SHOWN = 64;

/** Write access decides what the server runs; read access reveals the secrets in the file. */
function permissionProblems(
  name: string,
  mode: number,
  entries: ReadonlyMap<string, ConfigEntry>,
): readonly string[] {
  if ((mode & WRITABLE_BY_ALL) !== 0) {
    return [`${name}: everybody on this machine may write it: chmod o-w ${name}`];
  }
  const secrets = [...entries.keys()].filter((key) => {
    const option = OPTION_OF.get(key);
    return option?.shape === "secret" && option.name === key;
  });
  if ((mode & READABLE_BY_ALL) === 0 || secrets.length === 0) return [];
  const others = secrets.map((key) => `${key}-file`).join(" and ");
  return [
    `${name}: everybody on this machine may read it, and it has a secret in ${secrets.join(" and ")}: chmod o-r ${name}, or name a file with the secret as ${others}`,
  ];
}
