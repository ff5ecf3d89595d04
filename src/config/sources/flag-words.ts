import { plainFlagOf, type Role } from "../options/option.ts";
import { OPTIONS, optionsFor } from "../options/options.ts";
import type { Sources } from "./given.ts";
import { OptionReader } from "./reader.ts";

/**
 * The flags of a command line as words for another one of that role, started from anywhere: paths are absolute. The
 * configuration file and variables are left out, and so is a secret that stands on the command line itself: `visible`
 * names such flags.
 */
export function flagWords(
  sources: Sources,
  role: Role,
): { readonly words: readonly string[]; readonly visible: readonly string[] } {
  const reader = new OptionReader(sources);
  const words: string[] = [];
  const visible: string[] = [];
  for (const option of optionsFor(role)) {
    if (option === OPTIONS.config) continue;
    for (const { texts, source } of reader.givenFor(option)) {
      if (source.kind !== "flag") continue;
      const isPath = option.shape === "file" || option.shape === "secret" || "isPath" in option;
      const values = texts.map((text) => (isPath ? reader.absolute(option, text) : text));
      if (source.name === plainFlagOf(option)) visible.push(source.name);
      else if (option.shape === "switch") words.push(source.name);
      else for (const value of values) words.push(source.name, value);
    }
  }
  return { words, visible };
}
