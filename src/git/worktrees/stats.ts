import type { Git } from "../git.ts";
import { countAgainst } from "./commit-counts.ts";

/** How a commit stands to the base: commits of each that the other lacks, and what was changed since they parted. */
export type WorktreeStats = {
  readonly commitsAhead: number;
  readonly commitsBehind: number;
  readonly filesChanged: number;
  readonly insertions: number;
  readonly deletions: number;
};

type Changes = Pick<WorktreeStats, "filesChanged" | "insertions" | "deletions">;

const NO_CHANGES: Changes = { filesChanged: 0, insertions: 0, deletions: 0 };
/** Renames are looked for among so many files at most. */
const RENAMES = "-l200";

/**
 * For each of these commits; `base` and `heads` are object ids. One that has nothing in common with the base, or that
 * git cannot read in time, is left out.
 */
export async function statsAgainst(
  git: Git,
  base: string,
  heads: readonly string[],
): Promise<ReadonlyMap<string, WorktreeStats>> {
  const others = [...new Set(heads)].filter((head) => head !== base);
  const since = await partedFrom(git, base, others);
  const [counts, changes] = await Promise.all([countAgainst(git, base, since), changesSince(git, since)]);
  const stats = new Map<string, WorktreeStats>();
  for (const [head, { ahead, behind }] of counts) {
    const changed = changes.get(head) ?? NO_CHANGES;
    stats.set(head, { commitsAhead: ahead, commitsBehind: behind, ...changed });
  }
  if (heads.includes(base)) stats.set(base, { commitsAhead: 0, commitsBehind: 0, ...NO_CHANGES });
  return stats;
}

/** Where each of them and the base parted, by one git for all of them. */
async function partedFrom(
  git: Git,
  base: string,
  heads: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (heads.length === 0) return new Map();
  const parted = await git.try("rev-parse", ...heads.map((head) => `${base}...${head}`));
  if (parted.code === 0) return parseParted(parted.stdout);
  // One that cannot be read: the others can.
  if (heads.length === 1) return new Map();
  const half = heads.length >> 1;
  const halves = await Promise.all(
    [heads.slice(0, half), heads.slice(half)].map((part) => partedFrom(git, base, part)),
  );
  return new Map(halves.flatMap((since) => [...since]));
}

/** What each commit changed since it and the base parted, by one git for all of them. */
async function changesSince(
  git: Git,
  since: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, Changes>> {
  if (since.size === 0) return new Map();
  const input = [...since].map(([head, from]) => `${head} ${from}\n`).join("");
  const args = ["diff-tree", "--stdin", "-r", "-M", RENAMES, "--shortstat"];
  const { stdout } = await git.ask(args, { input });
  return parseShortStats(stdout);
}

/** Reads `git rev-parse BASE...HEAD …`: the head, the base, then with a caret each where they parted. */
export function parseParted(text: string): ReadonlyMap<string, string> {
  const parted = new Map<string, string>();
  let head: string | undefined;
  let isBase = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("^")) {
      // Where there are several, `git diff A...B` takes the first as well.
      if (head !== undefined && !parted.has(head)) parted.set(head, line.slice(1));
      isBase = false;
    } else if (isBase) {
      isBase = false;
    } else {
      head = line === "" ? undefined : line;
      isBase = true;
    }
  }
  return parted;
}

/** Reads `git diff-tree --stdin --shortstat`: a commit's id and a line of numbers; neither where nothing changed. */
export function parseShortStats(text: string): ReadonlyMap<string, Changes> {
  const stats = new Map<string, Changes>();
  let head = "";
  for (const line of text.split("\n")) {
    if (/^[0-9a-f]{40,64}$/.test(line)) head = line;
    const files = /^ (\d+) files? changed/.exec(line)?.[1];
    if (files === undefined) continue;
    stats.set(head, {
      filesChanged: Number(files),
      insertions: Number(/(\d+) insertions?\(\+\)/.exec(line)?.[1] ?? 0),
      deletions: Number(/(\d+) deletions?\(-\)/.exec(line)?.[1] ?? 0),
    });
  }
  return stats;
}
