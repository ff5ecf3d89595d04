// What a configuration came to, and where each part of it comes from: for those who ask.

import type { Option, Role } from "../options/option.ts";
import { optionsFor } from "../options/options.ts";
import type { Given } from "./given.ts";
import type { OptionReader } from "./reader.ts";
import { type Source, sourceName } from "./source.ts";

/** Why a setting is what it is: where it was given, the option that makes it so, or nothing but the default. */
export type SettingSource =
  | Source
  | { readonly kind: "implied"; readonly by: string }
  | { readonly kind: "default" };

export type Setting = {
  /** As in a configuration file. */
  readonly name: string;
  /** Texts as they were written, paths absolute; `undefined` for what is not set, and for every secret. */
  readonly value: string | boolean | readonly string[] | undefined;
  /** Of a secret alone: whether there is one. */
  readonly isSet?: boolean;
  /** The file that the secret is in. */
  readonly secretFile?: string;
  readonly source: SettingSource;
};

/** Every option of a role. What is wrong about them is among the problems of the reader. */
export function settingsOf(reader: OptionReader, role: Role): readonly Setting[] {
  return optionsFor(role).map((option) => settingOf(reader, option));
}

function settingOf(reader: OptionReader, option: Option): Setting {
  const { name } = option;
  const [given] = reader.givenFor(option);
  const implied = reader.impliedFor(option);
  if (implied !== undefined) {
    const value = option.shape === "switch" ? implied.text === "true" : implied.text;
    return { name, value, source: { kind: "implied", by: implied.because } };
  }
  const source = given?.source ?? { kind: "default" };
  if (option.shape !== "secret") return { name, value: shownValue(reader, option, given), source };
  const path = given?.isInFile === true ? given.texts.at(-1) : undefined;
  return {
    ...{ name, value: undefined, isSet: given !== undefined, source },
    ...(path === undefined ? {} : { secretFile: reader.absolute(option, path) }),
  };
}

function shownValue(
  reader: OptionReader,
  option: Exclude<Option, { readonly shape: "secret" }>,
  given: Given | undefined,
): Setting["value"] {
  if (option.shape === "switch") return reader.isOn(option);
  if (option.shape === "list") return given?.texts ?? [];
  const text = given?.texts.at(-1);
  if (option.shape === "file") return text === undefined ? undefined : reader.absolute(option, text);
  if (option.isPath !== true) return text ?? (option.fallbackText === "" ? undefined : option.fallbackText);
  const path = text ?? option.fallback;
  return typeof path === "string" ? reader.absolute(option, path) : option.fallbackText || undefined;
}

/** In a few words: `--port`, `TTYHQ_PORT`, `config.yaml:3:7`, `default`. */
export function sourceWords(source: SettingSource): string {
  if (source.kind === "default") return "default";
  if (source.kind === "implied") return `because of ${source.by}`;
  return source.kind === "file" ? `${source.path}:${source.line}:${source.column}` : sourceName(source);
}
