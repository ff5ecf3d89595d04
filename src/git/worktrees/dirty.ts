import { ServiceError } from "../../protocol/errors.ts";
import type { Git } from "../git.ts";
import type { ScopedEntry } from "../local-config.ts";
import { isDirty } from "../status/status.ts";
import { linesOf } from "./side-by-side.ts";

/**
 * Prints for each working tree whether it is `clean` or `dirty`; `ask` where its config names a program that is not
 * neutralised yet, and where git fails. $1 is the folder that all of them share, where all have one config: a tree
 * that is of that repository, as its own files say, is not asked for its config then, which would be a git more for
 * each. One thread each: there are other working trees for the other cores.
 */
const SCRIPT = `
common=$1; shift
is_alike() {
  [ -n "$common" ] || return 1
  [ "$tree/.git" = "$common" ] && return
  [ -f "$tree/.git" ] && IFS= read -r link <"$tree/.git" || return 1
  name=\${link#"gitdir: $common/worktrees/"}
  case $name in "$link"|*/*|.|..|'') return 1 ;; esac
  [ -f "$common/worktrees/$name/commondir" ] && IFS= read -r up <"$common/worktrees/$name/commondir" &&
    [ "$up" = ../.. ]
}
is_neutral() {
  names=$(git -C "$tree" config --includes --show-scope --name-only --get-regexp '^(filter|hook)[.]' 2>/dev/null)
  case $? in 0|1) ;; *) return 1 ;; esac
  [ -z "$names" ] || printf '%s\\n' "$names" | awk '
    { tab = index($0, "\\t"); scope = substr($0, 1, tab - 1); key = substr($0, tab + 1) }
    scope == "command" { neutral[key] = 1; next }
    scope != "global" && scope != "system" { named[key] = 1 }
    END { for (key in named) if (!(key in neutral)) exit 1 }'
}
for tree do
  is_alike || is_neutral || { echo ask; continue; }
  if found=$(git -C "$tree" -c core.preloadIndex=false status --porcelain --no-renames \\
    --untracked-files=normal --ignore-submodules=dirty 2>/dev/null)
  then if [ -n "$found" ]; then echo dirty; else echo clean; fi
  else echo ask; fi
done`;

/** Which of these working trees hold what is in no commit. One that git says nothing about in time is left out. */
export async function readDirt(
  git: Git,
  commonDir: string,
  trees: readonly string[],
): Promise<ReadonlyMap<string, boolean>> {
  const common = mayDiffer(await git.config()) ? "" : commonDir;
  const lines = await linesOf(git, SCRIPT, { fixed: [common], each: trees });
  const answers = await Promise.all(
    [...lines].map(async ([tree, line]) => {
      const dirty = line === "ask" ? await askAlone(git.at(tree)) : line === "dirty";
      return dirty === undefined ? [] : [[tree, dirty] as const];
    }),
  );
  return new Map(answers.flat());
}

/** Each tree may have a config of its own, or one under a condition. */
function mayDiffer(entries: readonly ScopedEntry[]): boolean {
  return entries.some(
    ({ scope, key }) =>
      scope !== "global" &&
      scope !== "system" &&
      (key === "extensions.worktreeconfig" || key.startsWith("includeif.")),
  );
}

async function askAlone(git: Git): Promise<boolean | undefined> {
  try {
    return await isDirty(git);
  } catch (error) {
    // Broken, or of somebody whom git does not trust.
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}
