import { ServiceError } from "../protocol/errors.ts";
import type { Git } from "./git.ts";
import { linesOf } from "./side-by-side.ts";
import { isDirty } from "./status.ts";

/**
 * Prints for each working tree whether it is `clean` or `dirty`; `ask` where its config names a program that is not
 * neutralised yet (a config of its own, a condition on its branch), and where git fails. One thread each: there are
 * other working trees for the other cores.
 */
const SCRIPT = `
for tree do
  names=$(git -C "$tree" config --includes --show-scope --name-only --get-regexp '^(filter|hook)[.]' 2>/dev/null)
  case $? in 0|1) ;; *) echo ask; continue ;; esac
  if [ -n "$names" ] && ! printf '%s\\n' "$names" | awk '
    { tab = index($0, "\\t"); scope = substr($0, 1, tab - 1); key = substr($0, tab + 1) }
    scope == "command" { neutral[key] = 1; next }
    scope != "global" && scope != "system" { named[key] = 1 }
    END { for (key in named) if (!(key in neutral)) exit 1 }
  '; then echo ask; continue; fi
  if found=$(git -C "$tree" -c core.preloadIndex=false status --porcelain --no-renames \\
    --untracked-files=normal --ignore-submodules=dirty 2>/dev/null)
  then if [ -n "$found" ]; then echo dirty; else echo clean; fi
  else echo ask; fi
done`;

/** Which of these working trees hold what is in no commit. One that git says nothing about in time is left out. */
export async function readDirt(git: Git, trees: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
  const lines = await linesOf(git, SCRIPT, { each: trees });
  const answers = await Promise.all(
    [...lines].map(async ([tree, line]) => {
      const dirty = line === "ask" ? await askAlone(git.at(tree)) : line === "dirty";
      return dirty === undefined ? [] : [[tree, dirty] as const];
    }),
  );
  return new Map(answers.flat());
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
