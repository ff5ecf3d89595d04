import type { WorktreeRecord } from "../../protocol/schemas/git.ts";
import type { Git } from "../git.ts";
import { linesOf } from "./side-by-side.ts";

/** A commit compared with the base: commits that only one of them has, and changes since their merge base. */
type WorktreeStats = Readonly<Required<NonNullable<WorktreeRecord["stats"]>>>;

/** git detects renames among at most 200 files. A head without a merge base gets an empty line. */
const SCRIPT = `
tree=$1 base=$2; shift 2
for head do
  counts=$(git -C "$tree" rev-list --left-right --count "$base...$head" -- 2>/dev/null) &&
    changes=$(git -C "$tree" diff --no-ext-diff --no-textconv --ignore-submodules=dirty -M -l200 --shortstat \\
      "$base...$head" -- 2>/dev/null) && echo "$counts$changes" || echo
done`;

/** Stats by commit; `base` and `heads` are object ids. Unrelated and unreadable commits are left out. None without `base`. */
export async function statsAgainst(
  git: Git,
  base: string | undefined,
  heads: readonly string[],
): Promise<ReadonlyMap<string, WorktreeStats>> {
  if (base === undefined) return new Map();
  const lines = await linesOf(git, SCRIPT, { fixed: [git.cwd, base], each: [...new Set(heads)] });
  return new Map(
    [...lines].flatMap(([head, line]) => {
      const stats = parseStats(line);
      return stats === undefined ? [] : [[head, stats] as const];
    }),
  );
}

/** Reads the output of `rev-list --left-right --count` and, on the same line, of `diff --shortstat`. */
export function parseStats(line: string): WorktreeStats | undefined {
  const [, behind, ahead] = /^(\d+)\t(\d+)/.exec(line) ?? [];
  if (behind === undefined || ahead === undefined) return undefined;
  const number = (pattern: RegExp): number => Number(pattern.exec(line)?.[1] ?? 0);
  return {
    ...{ commitsAhead: Number(ahead), commitsBehind: Number(behind) },
    filesChanged: number(/ (\d+) files? changed/),
    ...{ insertions: number(/ (\d+) insertions?\(\+\)/), deletions: number(/ (\d+) deletions?\(-\)/) },
  };
}
