import { unless } from "../../protocol/errors.ts";
import type { Git } from "../git.ts";

/** Concurrent shells of one query, each with one git process. */
const SHELLS = 4;

/**
 * Runs a script over many arguments in a few concurrent shells; `fixed` are its first arguments. The script prints one
 * line for each argument; missing lines are `undefined`.
 */
export async function linesOf(
  git: Git,
  script: string,
  { fixed = [], each }: { readonly fixed?: readonly string[]; readonly each: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  const chunks = Array.from({ length: SHELLS }, (_, shell) => each.filter((_, at) => at % SHELLS === shell));
  const answers = await Promise.all(
    chunks.map(async (chunk) => {
      const lines = chunk.length === 0 ? [] : await linesOfShell(git, script, [...fixed, ...chunk]);
      return chunk.flatMap((one, at) => {
        const line = lines[at];
        return line === undefined ? [] : [[one, line] as const];
      });
    }),
  );
  return new Map(answers.flat());
}

async function linesOfShell(git: Git, script: string, args: readonly string[]): Promise<readonly string[]> {
  // A slow repository must not hide the others.
  const run = await git.script(script, args).catch(unless("git_timeout"));
  return run?.stdout.split("\n").slice(0, -1) ?? [];
}
