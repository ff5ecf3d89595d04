import type { Credentials } from "../lib/credentials.ts";
import { type SecretOption, titleOf, type ValueOption } from "./options/option.ts";
import type { OptionReader } from "./sources/reader.ts";

/** A user name and a password that belong together, as they were given. */
export type Pair = {
  /** What they were given by; none, one or both. */
  readonly sources: readonly string[];
  /** Both, and both right. */
  readonly credentials: Credentials | undefined;
  /** Says that one is missing. */
  readonly problem: string | undefined;
};

export function readPair(
  reader: OptionReader,
  options: { readonly username: ValueOption<string | undefined>; readonly password: SecretOption },
): Pair {
  const username = reader.value(options.username);
  const password = reader.secret(options.password);
  const usernameSource = reader.sourceOf(options.username);
  const passwordSource = reader.sourceOf(options.password);
  const [set, missing] =
    usernameSource === undefined ? [passwordSource, options.username] : [usernameSource, options.password];
  const isHalf = (usernameSource === undefined) !== (passwordSource === undefined);
  return {
    sources: [usernameSource, passwordSource].filter((source) => source !== undefined),
    credentials: username === undefined || password === undefined ? undefined : { username, password },
    problem: isHalf ? `${set} is set without ${titleOf(missing)}: set both or none` : undefined,
  };
}

/** Says that what was given of these is left out; nothing where nothing was given. */
export function warnOfUnused(reader: OptionReader, because: string, pairs: readonly Pair[]): void {
  const sources = pairs.flatMap((pair) => pair.sources);
  if (sources.length === 0) return;
  reader.warn(`${because}: ${sources.join(" and ")} ${sources.length > 1 ? "are" : "is"} not used`);
}
