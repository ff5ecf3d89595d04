// Between the option table and a parser of command lines such as commander, which is not known here.
import { flagOf, type Option, placeholderOf, plainFlagOf, type Role } from "../options/option.ts";
import { optionsFor } from "../options/options.ts";

/** What commander's `opts()` gives: texts, lists of texts, booleans, by camel-case name. */
export type Flags = Readonly<Record<string, unknown>>;

type Collect = (value: string, previous: readonly string[] | undefined) => readonly string[];

/** What of a commander `Command` is needed. */
export type FlagTarget = {
  option(flags: string, description: string): unknown;
  option(flags: string, description: string, collect: Collect): unknown;
};

/** Declares every option of a role. No defaults are given, so that a variable can be told from a flag. */
export function registerOptions(target: FlagTarget, role: Role): void {
  for (const option of optionsFor(role)) {
    const plainFlag = plainFlagOf(option);
    if (plainFlag !== undefined) target.option(`${plainFlag} <value>`, `${option.prose} ${VISIBLE}`);
    const flag = flagOf(option);
    if (flag === undefined) continue;
    const placeholder = placeholderOf(option);
    const flags = placeholder === undefined ? flag : `${flag} <${placeholder}>`;
    if (option.shape === "list") target.option(flags, describe(option), append);
    else target.option(flags, describe(option));
  }
}

const VISIBLE = "Other users of the machine can see it: the file hides it.";

/** What was given for an option on the command line, in order; empty when it was not given. */
export function flagTexts(flags: Flags, option: Option): readonly string[] {
  const flag = flagOf(option);
  if (flag === undefined) return [];
  if (option.shape !== "switch") return textsOf(flags, flag);
  return flags[attributeOf(flag)] === !flag.startsWith("--no-") ? ["true"] : [];
}

/** The same for the flag that takes a secret itself. */
export function plainFlagTexts(flags: Flags, option: Option): readonly string[] {
  const flag = plainFlagOf(option);
  return flag === undefined ? [] : textsOf(flags, flag);
}

function textsOf(flags: Flags, flag: string): readonly string[] {
  const given = flags[attributeOf(flag)];
  const texts = Array.isArray(given) ? given : [given];
  return texts.filter((text) => typeof text === "string");
}

/** Under which name commander keeps a flag: `--no-x` sets `x` to false. */
export function attributeOf(flag: string): string {
  return flag.replace(/^--(?:no-)?/, "").replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function describe(option: Option): string {
  const fallback = option.shape === "value" && option.fallbackText !== "" ? ` (${option.fallbackText})` : "";
  const repeated = option.shape === "list" ? " May be repeated." : "";
  const file = option.shape === "secret" ? "File with: " : "";
  return `${file}${option.prose}${repeated}${fallback}`;
}

const append: Collect = (value, previous) => [...(previous ?? []), value];
