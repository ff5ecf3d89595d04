// Overrides for programs that a repository's own config names. The user's and the system's config are trusted; the
// repository's is not, as it may come from an archive or belong to another user.
import { ServiceError } from "../protocol/errors.ts";

export type ConfigEntry = { readonly key: string; readonly value: string };
export type ScopedEntry = ConfigEntry & { readonly scope: string };

/** Each costs two variables in the environment of every git command. */
const MAX_OVERRIDES = 1_000;
/** Filter drivers, and the hooks of newer git versions. */
const PROGRAM = /^filter\..*\.(?:clean|smudge|process|required)$|^hook\..*\.(?:command|event)$/s;

/** Parses `git config --list --show-scope -z`: scope, NUL, key, line feed, value, NUL. */
export function parseConfigList(text: string): readonly ScopedEntry[] {
  const fields = text.split("\0");
  const entries: ScopedEntry[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [scope = "", entry = ""] = [fields[at], fields[at + 1]];
    // A key without a value is true.
    const [, key = "", value = "true"] = /^([^\n]*)(?:\n(.*))?$/s.exec(entry) ?? [];
    entries.push({ scope, key, value });
  }
  return entries;
}

/**
 * Overrides that replace each program in the repository's own config with that of the trusted config, or none. Throws
 * `forbidden` for too many of them.
 */
export function configOverrides(entries: readonly ScopedEntry[]): readonly ConfigEntry[] {
  const named = new Set<string>();
  const trusted = new Map<string, string>();
  for (const { scope, key, value } of entries) {
    if (scope === "system" || scope === "global") trusted.set(key, value);
    else if (PROGRAM.test(key)) named.add(key);
  }
  if (named.size > MAX_OVERRIDES) {
    throw new ServiceError("forbidden", `the repository's config names more than ${MAX_OVERRIDES} programs`);
  }
  return [...named].map((key) => override(key, trusted.get(key)));
}

function override(key: string, trusted: string | undefined): ConfigEntry {
  const [, section] = /^(hook\..*)\.[^.]*$/s.exec(key) ?? [];
  if (section !== undefined) return { key: `${section}.enabled`, value: "false" };
  // A required filter would fail without its program.
  return { key, value: trusted ?? (key.endsWith(".required") ? "false" : "") };
}
