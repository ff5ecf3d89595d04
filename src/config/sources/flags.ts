// Between the option table and a parser of command lines such as commander, which is not known here.
import { type Option, type Role, type Spelling, spellingsOf } from "../options/option.ts";
import { optionsFor } from "../options/options.ts";

/** The result of commander's `opts()`: texts, lists of texts and booleans by camel-case name. */
export type Flags = Readonly<Record<string, unknown>>;

type Collect = (value: string, previous: readonly string[] | undefined) => readonly string[];

/** The part of a commander `Command` that is used here. */
type FlagTarget = {
  option(flags: string, description: string): unknown;
  option(flags: string, description: string, collect: Collect): unknown;
};

/** Declares every option of a role, without defaults, so that an absent flag differs from one with the default. */
export function registerOptions(target: FlagTarget, role: Role): void {
  for (const option of optionsFor(role)) {
    for (const spelling of spellingsOf(option)) {
      const { flag, placeholder } = spelling;
      if (flag === undefined) continue;
      const flags = placeholder === undefined ? flag : `${flag} <${placeholder}>`;
      if (option.shape === "list") target.option(flags, describe(option, spelling), append);
      else target.option(flags, describe(option, spelling));
    }
  }
}

/** The texts of a flag on the command line, in order; empty if it was not given. */
export function flagTexts(flags: Flags, flag: string): readonly string[] {
  const given = flags[attributeOf(flag)];
  if (given === !flag.startsWith("--no-")) return ["true"];
  return [given].flat().filter((text) => typeof text === "string");
}

/** The name under which commander stores a flag: `--no-x` sets `x` to false. */
function attributeOf(flag: string): string {
  return flag.replace(/^--(?:no-)?/, "").replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function describe(option: Option, { isPath }: Spelling): string {
  const { prose, shape } = option;
  if (shape === "secret" && isPath) return `File with: ${prose}`;
  if (shape === "secret") return `${prose} Visible to other users of the machine; the file is not.`;
  if (shape === "list") return `${prose} May be repeated.`;
  return shape === "value" && option.fallbackText !== "" ? `${prose} (${option.fallbackText})` : prose;
}

const append: Collect = (value, previous) => [...(previous ?? []), value];
