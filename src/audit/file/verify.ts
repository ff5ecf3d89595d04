// Checks files of an audit log: what `ttyhq audit verify` does.
import type { ChainHead } from "./chain.ts";
import { firstSequence, linesOf } from "./log-lines.ts";
import { ChainVerifier, type Problem } from "./verifier.ts";

export type Verification = {
  readonly files: readonly string[];
  /** Of the chain; `undefined` when no line of it was found. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  /** The sequence number that the server sealed; `undefined`: not checked. */
  readonly sealed: number | undefined;
  /** Lines of versions that had no chain. */
  readonly unchained: number;
  /** Bytes at the end that are no whole line: of a write that goes on, or was interrupted. */
  readonly torn: number;
  /** The first one. */
  readonly problem: Problem | undefined;
};

/**
 * Reads the files in the order of their first sequence numbers. `sealed`: what the server sealed. `isWhole`: the files are
 * all that a server keeps, so that the beginning is checked as well.
 */
export async function verifyLog(
  paths: readonly string[],
  { sealed, isWhole }: { readonly sealed: ChainHead | undefined; readonly isWhole: boolean },
): Promise<Verification> {
  const files = await inOrder(paths);
  const verifier = new ChainVerifier({ sealed });
  let torn = 0;
  const findProblem = async (): Promise<Problem | undefined> => {
    for (const file of files) {
      let line = 0;
      for await (const { bytes, isWhole } of linesOf(file)) {
        line += 1;
        torn = isWhole ? 0 : bytes.length;
        const problem = isWhole || file !== files.at(-1) ? verifier.accept(bytes, { file, line }) : undefined;
        if (problem !== undefined) return problem;
      }
    }
    return verifier.end({ isWhole, file: files.at(-1) ?? "" });
  };
  const problem = await findProblem();
  const { firstSeq: first, last, unchained } = verifier;
  return { files, first, last: last?.seq, sealed: sealed?.seq, unchained, torn, problem };
}

async function inOrder(paths: readonly string[]): Promise<readonly string[]> {
  const firsts = await Promise.all(paths.map(async (path) => ({ path, first: await firstSequence(path) })));
  return firsts.sort((a, b) => (a.first ?? 0) - (b.first ?? 0)).map(({ path }) => path);
}
