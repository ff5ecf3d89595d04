// Checks that the lines of an audit log are an unbroken chain.
import { z } from "zod";
import { type ChainHead, type ChainLink, GENESIS, hashOf, linkOf } from "./chain.ts";
import { entryIn, firstSequence, linesOf } from "./log-lines.ts";

/** `line`: from 1. */
type LinePlace = { readonly file: string; readonly line: number };

export type Problem = LinePlace & { readonly reason: string };

type Placed = ChainHead & { readonly place: LinePlace };

/** Details of entries about the log itself. */
const OwnEntry = z.object({
  details: z.object({ reason: z.string(), sha256: z.string(), first: z.number() }).partial(),
});

const NEWLINE = new Uint8Array([0x0a]);

/** A reducer over lines, from the first line or the line after `start`, up to the first problem. */
export class ChainVerifier {
  /** The sealed line, which must exist with that hash. */
  readonly #sealed: ChainHead | undefined;
  #first: Placed | undefined;
  /** Without a place: the line before the first one. */
  #last: (ChainHead & { readonly place?: LinePlace }) | undefined;
  /** Lines outside the chain since its last line. */
  #torn: { readonly place: LinePlace; readonly parts: Uint8Array[] } | undefined;
  /** The first sequence number kept by rotation. */
  #kept = 1;
  #hasSealed = false;
  /** Lines before the chain, from versions without one. */
  #unchained = 0;

  constructor(options: { readonly start?: ChainHead; readonly sealed?: ChainHead | undefined } = {}) {
    this.#last = options.start;
    this.#sealed = options.sealed;
  }

  get counts(): Pick<Verification, "first" | "last" | "unchained"> {
    return { first: this.#first?.seq, last: this.#last?.seq, unchained: this.#unchained };
  }

  accept(line: Uint8Array, place: LinePlace): Problem | undefined {
    const link = linkOf(line);
    if (link === undefined) {
      this.#outside(line, place);
      return undefined;
    }
    const problem = this.#ownProblem(link, line, place) ?? this.#continues(link, place);
    this.#torn = undefined;
    const placed = { seq: link.seq, hash: hashOf(line), place };
    this.#first ??= placed;
    this.#last = placed;
    return problem ?? this.#sealProblem(placed);
  }

  /** The next line decides whether it is a torn line. */
  #outside(line: Uint8Array, place: LinePlace): void {
    if (this.#last === undefined) this.#unchained += 1;
    else if (this.#torn === undefined) this.#torn = { place, parts: [line] };
    else this.#torn.parts.push(NEWLINE, line);
  }

  /**
   * After the last line. `isWhole`: the files are complete, so that the chain must begin where rotation says and
   * reach the sealed line.
   */
  end({ isWhole, file }: { readonly isWhole: boolean; readonly file: string }): Problem | undefined {
    const [first, kept] = [this.#first, this.#kept];
    if (this.#torn !== undefined) return problem(this.#torn.place, "is no line of the chain");
    if (isWhole && first !== undefined && first.seq > kept) {
      const missing = range(kept, first.seq - 1);
      return problem(first.place, `begins with sequence ${first.seq}: ${missing} missing before it`);
    }
    if (this.#sealed === undefined || this.#hasSealed) return undefined;
    const { seq: lastSeq } = this.#last ?? GENESIS;
    const { place = { file, line: 1 } } = this.#last ?? {};
    const { seq } = this.#sealed;
    if (seq < lastSeq) return problem(place, `the sealed sequence ${seq} is missing`);
    return problem(place, `ends with sequence ${lastSeq}: ${range(lastSeq + 1, seq)} missing after it`);
  }

  #continues({ seq, prev }: ChainLink, place: LinePlace): Problem | undefined {
    const before = this.#last ?? (seq === 1 ? GENESIS : undefined);
    if (before === undefined) return undefined;
    const due = before.seq + 1;
    if (seq > due) return problem(place, `has sequence ${seq}: ${range(due, seq - 1)} missing before it`);
    if (seq < due) return problem(place, `has sequence ${seq}, ${due} is due: repeated or out of order`);
    if (prev === before.hash) return undefined;
    const reason = "does not have the hash that the next line names: one of them was changed";
    return problem(this.#last?.place ?? place, reason);
  }

  /** Entries about the log, and torn lines before them. */
  #ownProblem({ action }: ChainLink, line: Uint8Array, place: LinePlace): Problem | undefined {
    const details = action.startsWith("audit.") ? entryIn(line, OwnEntry)?.details : undefined;
    const isTorn = action === "audit.torn";
    const torn = this.#torn;
    if (torn !== undefined && !(isTorn && details?.sha256 === hashOf(Buffer.concat(torn.parts))))
      return problem(torn.place, "is no line of the chain");
    if (isTorn && torn === undefined && this.#first !== undefined)
      return problem(place, "names an interrupted line before it, which is missing");
    if (action === "audit.break")
      return problem(place, `the server found at its start: ${details?.reason ?? "the log was changed"}`);
    if (action === "audit.rotate") this.#kept = details?.first ?? this.#kept;
    return undefined;
  }

  #sealProblem({ seq, hash, place }: Placed): Problem | undefined {
    if (seq !== this.#sealed?.seq) return undefined;
    this.#hasSealed = true;
    if (hash === this.#sealed.hash) return undefined;
    const reason =
      "does not have the sealed hash: this line or one before it was changed, and the chain made anew";
    return problem(place, reason);
  }
}

function problem(place: LinePlace, reason: string): Problem {
  return { ...place, reason };
}

function range(from: number, to: number): string {
  return from === to ? `sequence ${from} is` : `sequences ${from} to ${to} are`;
}

export type Verification = {
  readonly files: readonly string[];
  /** Sequence numbers; `undefined` if no line of the chain was found. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  /** The sealed sequence number; `undefined`: not checked. */
  readonly sealed: number | undefined;
  /** Lines of versions without a chain. */
  readonly unchained: number;
  /** Bytes after the last newline. */
  readonly torn: number;
  readonly problem: Problem | undefined;
};

/**
 * For `ttyhq audit verify`. Reads the files in the order of their sequence numbers. `isWhole`: these are all files of
 * a server, so that the beginning is checked as well.
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
  return { files, ...verifier.counts, sealed: sealed?.seq, torn, problem };
}

async function inOrder(paths: readonly string[]): Promise<readonly string[]> {
  const firsts = await Promise.all(paths.map(async (path) => ({ path, first: await firstSequence(path) })));
  return firsts.sort((a, b) => (a.first ?? 0) - (b.first ?? 0)).map(({ path }) => path);
}
