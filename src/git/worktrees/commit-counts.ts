// How many commits each of two has that the other lacks, of many against one, by one git for all of them.
import type { Git } from "../git.ts";
import { linesOf } from "./side-by-side.ts";

/** Commits that the base lacks, and that are lacking here. */
export type CommitCounts = { readonly ahead: number; readonly behind: number };

/** Commits since all of them parted. Over that each head is asked about on its own. */
const MAX_COMMITS = 20_000;
/** Bits of one word. */
const WORD = 32;
const ONE_BY_ONE = `
tree=$1 base=$2; shift 2
for head do
  git -C "$tree" rev-list --left-right --count "$base...$head" -- 2>/dev/null || echo
done`;

/** `since`: each head with where it and the base parted. One that git cannot read is left out. */
export async function countAgainst(
  git: Git,
  base: string,
  since: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, CommitCounts>> {
  const heads = [...since.keys()];
  if (heads.length === 0) return new Map();
  return (await countTogether(git, base, since)) ?? (await countOneByOne(git, base, heads));
}

async function countTogether(
  git: Git,
  base: string,
  since: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, CommitCounts> | undefined> {
  const common = await commonOf(git, [...new Set(since.values())]);
  const heads = [...since.keys()];
  const input = [base, ...heads, ...(common === undefined ? [] : [`^${common}`])].map((one) => `${one}\n`);
  const args = ["rev-list", "--topo-order", "--parents", `--max-count=${MAX_COMMITS + 1}`, "--stdin"];
  const { stdout, code } = await git.ask(args, { input: input.join("") });
  const lines = stdout.split("\n").slice(0, -1);
  return code !== 0 || lines.length > MAX_COMMITS ? undefined : countLines(lines, base, heads);
}

/** What all of them come from: nothing before it makes a difference. */
async function commonOf(git: Git, commits: readonly string[]): Promise<string | undefined> {
  if (commits.length === 1) return commits[0];
  const { stdout } = await git.try("merge-base", "--octopus", ...commits);
  return stdout === "" ? undefined : stdout.trim();
}

/** Reads `git rev-list --topo-order --parents`: a commit and its parents in each line, none before its children. */
export function countLines(
  lines: readonly string[],
  base: string,
  heads: readonly string[],
): ReadonlyMap<string, CommitCounts> {
  const words = Math.ceil((heads.length + 1) / WORD);
  // Which of them each commit is reached from: bit 0 is the base.
  const reached = new Map<string, Uint32Array>();
  const reach = (commit: string): Uint32Array => {
    const bits = reached.get(commit) ?? new Uint32Array(words);
    reached.set(commit, bits);
    return bits;
  };
  for (const [at, commit] of [base, ...heads].entries()) setBit(reach(commit), at);
  const [ahead, behind] = [new Uint32Array(heads.length), new Uint32Array(heads.length)];
  for (const line of lines) {
    const [commit = "", ...parents] = line.split(" ");
    const bits = reach(commit);
    for (const parent of parents) merge(reach(parent), bits);
    reached.delete(commit);
    const isInBase = hasBit(bits, 0);
    for (let at = 0; at < heads.length; at++) {
      if (hasBit(bits, at + 1) === isInBase) continue;
      const counts = isInBase ? behind : ahead;
      counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  return new Map(heads.map((head, at) => [head, { ahead: ahead[at] ?? 0, behind: behind[at] ?? 0 }]));
}

function setBit(bits: Uint32Array, at: number): void {
  const word = Math.floor(at / WORD);
  bits[word] = (bits[word] ?? 0) | (1 << (at % WORD));
}

function hasBit(bits: Uint32Array, at: number): boolean {
  return (((bits[Math.floor(at / WORD)] ?? 0) >>> (at % WORD)) & 1) === 1;
}

function merge(into: Uint32Array, bits: Uint32Array): void {
  for (let word = 0; word < bits.length; word++) into[word] = (into[word] ?? 0) | (bits[word] ?? 0);
}

async function countOneByOne(
  git: Git,
  base: string,
  heads: readonly string[],
): Promise<ReadonlyMap<string, CommitCounts>> {
  const lines = await linesOf(git, ONE_BY_ONE, { fixed: [git.cwd, base], each: heads });
  return new Map(
    [...lines].flatMap(([head, line]) => {
      const [, behind, ahead] = /^(\d+)\t(\d+)$/.exec(line) ?? [];
      return behind === undefined ? [] : [[head, { ahead: Number(ahead), behind: Number(behind) }]];
    }),
  );
}
