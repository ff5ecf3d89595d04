// The environment that git runs in.
import { isOwnVariable } from "../lib/os/own-variables.ts";
import type { ConfigEntry } from "./local-config.ts";

export type GitEnv = Readonly<Record<string, string>>;

/** Nobody is there to be asked, and what git says is read by a program. */
const UNATTENDED: GitEnv = {
  ...{ GIT_TERMINAL_PROMPT: "0", GIT_ASKPASS: "", SSH_ASKPASS: "", SSH_ASKPASS_REQUIRE: "never" },
  ...{ GCM_INTERACTIVE: "never", GIT_EDITOR: ":", GIT_MERGE_AUTOEDIT: "no", GIT_PAGER: "cat", LC_ALL: "C" },
};

/** Changes nothing, and fetches nothing that a partial clone lacks: its remote may name a program. */
const READ_ONLY: GitEnv = { GIT_OPTIONAL_LOCKS: "0", GIT_ALLOW_PROTOCOL: "", GIT_NO_LAZY_FETCH: "1" };

/** What a repository's own config must not decide while it is only looked at. */
const READ_CONFIG: readonly ConfigEntry[] = [
  { key: "core.fsmonitor", value: "false" },
  { key: "core.hooksPath", value: "/dev/null" },
  { key: "log.showSignature", value: "false" },
  { key: "status.submoduleSummary", value: "false" },
  { key: "submodule.recurse", value: "false" },
];

/** Everything of the process's environment but what steers git and what configures ttyhq. */
export function gitEnv(env: Readonly<Record<string, string | undefined>>): GitEnv {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !entry[0].startsWith("GIT_") && !isOwnVariable(entry[0]),
  );
  return { ...Object.fromEntries(kept), ...UNATTENDED };
}

/** For a question: `overrides` are what the repository's own config would have git run. */
export function readingEnv(env: GitEnv, overrides: readonly ConfigEntry[]): GitEnv {
  const entries = [...overrides, ...READ_CONFIG];
  // Not as `-c` arguments: a section's name may hold an equals sign.
  const config = entries.flatMap(({ key, value }, index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { ...env, ...READ_ONLY, ...Object.fromEntries(config), GIT_CONFIG_COUNT: `${entries.length}` };
}
