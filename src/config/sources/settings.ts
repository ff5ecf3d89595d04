// The configuration as `ttyhq config` prints it, and as the command line of a service.
import { flagOf, type Option, type Role } from "../options/option.ts";
import { OPTIONS, optionsFor } from "../options/options.ts";
import { placeName, type Source, sourceName } from "./given.ts";
import type { OptionReader } from "./reader.ts";

/** Where a setting comes from: a source, the option that implies it, or the default. */
type SettingSource =
  | Source
  | { readonly kind: "implied"; readonly by: string }
  | { readonly kind: "default" };

export type Setting = {
  /** As in a configuration file. */
  readonly name: string;
  /** Texts as written, paths absolute; `undefined` if not set, and for every secret. */
  readonly value: string | boolean | readonly string[] | undefined;
  /** Secrets only. */
  readonly isSet?: boolean;
  readonly secretFile?: string | undefined;
  readonly source: SettingSource;
};

/** Every option of a server. Invalid values are problems of the reader. */
export function settingsOf(reader: OptionReader): readonly Setting[] {
  return optionsFor("server").map((option) => settingOf(reader, option));
}

function settingOf(reader: OptionReader, option: Option): Setting {
  const { name } = option;
  const implied = reader.impliedFor(option);
  if (implied !== undefined) {
    const value = option.shape === "switch" ? implied.text === "true" : implied.text;
    return { name, value, source: { kind: "implied", by: implied.because } };
  }
  const [given] = reader.givenFor(option);
  const source = given?.source ?? { kind: "default" };
  if (option.shape !== "secret")
    return { name, value: shownValue(reader, option, given?.texts ?? []), source };
  const secretFile = given?.isPath === true ? given.texts.at(-1) : undefined;
  return { name, value: undefined, isSet: given !== undefined, source, secretFile };
}

function shownValue(
  reader: OptionReader,
  option: Exclude<Option, { readonly shape: "secret" }>,
  texts: readonly string[],
): Setting["value"] {
  if (option.shape === "switch") return reader.isOn(option);
  if (option.shape === "list") return texts;
  const text = texts.at(-1);
  if (text !== undefined || option.shape === "file") return text;
  const isPath = option.isPath === true && typeof option.fallback === "string";
  return isPath ? String(reader.value(option)) : option.fallbackText || undefined;
}

/** In a few words: `--port`, `TTYHQ_PORT`, `config.yaml:3:7`, `default`. */
export function sourceWords(source: SettingSource): string {
  if (source.kind === "default") return "default";
  if (source.kind === "implied") return `because of ${source.by}`;
  return source.kind === "file" ? placeName(source) : sourceName(source);
}

/**
 * The options of a role that were given in one of these sources as words of a command line, with absolute paths.
 * `visible` names the flags that hold a secret themselves, which are left out.
 */
export function flagWords(
  reader: OptionReader,
  role: Role,
  kinds: readonly Source["kind"][] = ["flag", "variable", "file"],
): { readonly words: readonly string[]; readonly visible: readonly string[] } {
  const words: string[] = [];
  const visible: string[] = [];
  for (const option of optionsFor(role)) {
    const flag = flagOf(option);
    if (option === OPTIONS.config || flag === undefined) continue;
    for (const { texts, source, isPath } of reader.givenFor(option)) {
      if (!kinds.includes(source.kind)) continue;
      if (option.shape === "secret" && !isPath) visible.push(source.name);
      else if (option.shape !== "switch") words.push(...texts.flatMap((text) => [flag, text]));
      else if (reader.isOn(option)) words.push(flag);
    }
  }
  return { words, visible };
}
