// Where the chain continues after a start, and whether the log was changed meanwhile.
import { errorMessage } from "../../protocol/errors.ts";
import { type ChainHead, GENESIS, hashOf, linkOf } from "./chain.ts";
import { linesOf } from "./log-lines.ts";
import type { SealedHead } from "./sealed-head.ts";
import { ChainVerifier, type Problem } from "./verifier.ts";

/**
 * Checks the lines from the sealed one on; later lines were written just before a crash. `ttyhq audit verify` checks
 * earlier lines. `files`: oldest first. Without any line of the chain they are new: the chain continues from the
 * seal. `reason`: how the log was changed, if it was.
 */
export async function resumeChain(
  files: readonly string[],
  head: Pick<SealedHead, "read">,
): Promise<{ readonly chain: ChainHead; readonly reason: string | undefined }> {
  let unsealed: string | undefined;
  const sealed = await head.read().catch((error: unknown) => {
    unsealed = errorMessage(error);
    return undefined;
  });
  const newest = await scan(files.slice(-1), sealed);
  // The process may have crashed just after a rotation.
  const { last, rest, problem } = newest.rest === undefined ? await scan(files.slice(-2), sealed) : newest;
  if (last === undefined) return { chain: sealed ?? GENESIS, reason: unsealed };
  const chain = { seq: Math.max(last.seq, sealed?.seq ?? 0), hash: last.hash };
  if (sealed === undefined) return { chain, reason: unsealed ?? "there is no sealed head of this log" };
  if (rest === undefined) {
    const found = `the log ends with sequence ${last.seq}`;
    return { chain, reason: `the sealed line with sequence ${sealed.seq} is missing or changed: ${found}` };
  }
  return { chain, reason: problem && `after the sealed sequence ${sealed.seq} a line ${problem.reason}` };
}

/**
 * The last line of the chain, and the check of the lines after the sealed one, if that was found. Hashes few lines: a
 * full file has some 200,000.
 */
async function scan(files: readonly string[], sealed: ChainHead | undefined) {
  let last: { readonly seq: number; readonly bytes: Uint8Array } | undefined;
  let rest: ChainVerifier | undefined;
  let problem: Problem | undefined;
  for (const file of files) {
    for await (const { bytes, isWhole } of linesOf(file)) {
      if (!isWhole) continue;
      problem ??= rest?.accept(bytes, { file, line: 0 });
      const link = linkOf(bytes);
      if (link === undefined) continue;
      last = { seq: link.seq, bytes };
      if (sealed?.seq === link.seq && sealed.hash === hashOf(bytes))
        rest = new ChainVerifier({ start: sealed });
    }
  }
  return { last: last && { seq: last.seq, hash: hashOf(last.bytes) }, rest, problem };
}
