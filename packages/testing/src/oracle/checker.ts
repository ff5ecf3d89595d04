import { crc32 } from "node:zlib";
import { type OracleFault, OracleFaults } from "./faults.ts";
import { OracleLine } from "./line.ts";
import { MissingNumbers } from "./missing-numbers.ts";
import { type OracleRecord, readOracleRecord } from "./record.ts";
import { complaint, type OracleReport } from "./report.ts";

export type OracleCheckerOptions = {
  /** The program's seed, default 1. Records of another seed count as damage. */
  readonly seed?: number;
  /** "middle": the stream is joined at any place. Default: from its first byte. */
  readonly from?: "start" | "middle";
  /** The program was typed into a shell: output before its first record and after its last is ignored. */
  readonly isInShell?: boolean;
};

const FIRST_RECORD = "000000000 B ";
/** Bytes of a damaged line in its fault. */
const SHOWN_BYTES = 60;

/**
 * Accepts the output of an oracleProgram in pieces of any size, and reports lost, repeated, reordered and damaged
 * bytes. Every byte is covered: each record has a number and a checksum with the seed in it, the last one their count
 * and the checksum of all checksums. Holds one line of at most 4 KiB, and the content of MissingNumbers and
 * OracleFaults.
 */
export class OracleChecker {
  readonly #seed: number;
  readonly #isInShell: boolean;
  readonly #faults = new OracleFaults();
  readonly #missing = new MissingNumbers();
  readonly #line = new OracleLine();
  /** Whether lines of a shell may follow. */
  #isForeign: boolean;
  /** Whether the stream was joined in the middle of a line, so that the next one may be the rest of a record. */
  #isInLine: boolean;
  /** Whether the next record may be any later one. */
  #isJoining: boolean;
  #hasEnd = false;
  #hasSkipped: boolean;
  #due = 0;
  #records = 0;
  #skipped = 0;
  #skips = 0;
  #bytes = 0;
  #sum = 0;
  /** The offset of the next byte. */
  #next: number | undefined;

  constructor({ seed = 1, from = "start", isInShell = false }: OracleCheckerOptions = {}) {
    this.#seed = seed;
    this.#isInShell = isInShell;
    this.#isForeign = isInShell;
    this.#isInLine = this.#isJoining = this.#hasSkipped = from === "middle";
  }

  /** The next bytes. Their offset, if given, must follow the last byte. */
  take(bytes: Uint8Array, offset = this.#next ?? 0): void {
    const due = this.#next ?? offset;
    if (offset !== due) this.#damaged(due, `offset ${offset} in place of ${due}`);
    this.#next = offset + bytes.length;
    this.#bytes += bytes.length;
    this.#line.take(bytes, offset, (line, begin) => this.#took(line, begin));
  }

  /** Legitimately skips output up to a byte: for RESYNC, and for a viewer that joins late. */
  skip(offset: number): void {
    this.#line.clear();
    this.#skips += 1;
    this.#next = offset;
    this.#isInLine = this.#isJoining = this.#hasSkipped = true;
  }

  /** Whether the last record arrived, regardless of missing ones. */
  get isComplete(): boolean {
    return this.#hasEnd;
  }

  /** The report so far. */
  get report(): OracleReport {
    const missing = this.#missing;
    const isFault = ({ kind, first, last }: OracleFault): boolean =>
      kind !== "lost" || missing.isAnyOf(first, last);
    return {
      ...{ isComplete: this.#hasEnd, records: this.#records, bytes: this.#bytes },
      ...{ skipped: this.#skipped, skips: this.#skips },
      lost: missing.count,
      doubled: this.#faults.count("doubled"),
      disordered: this.#faults.count("disordered"),
      damaged: this.#faults.count("damaged"),
      faults: this.#faults.all.filter(isFault),
    };
  }

  /** Ends the stream. Throws an Error that describes its faults; returns the report if there are none. */
  verify(): OracleReport {
    this.#line.end((line, begin) => this.#took(line, begin));
    const { report } = this;
    const problem = complaint(report);
    if (problem !== undefined) throw new Error(problem);
    return report;
  }

  #took(line: Uint8Array, begin: number): void {
    // A shell's prompt may precede the first record on its line.
    const prompt = this.#isForeign ? Math.max(0, Buffer.from(line).indexOf(FIRST_RECORD)) : 0;
    const record = readOracleRecord(line.subarray(prompt), this.#seed);
    if (record !== undefined) this.#good(record, begin);
    else if (this.#isInLine) this.#isInLine = false;
    else if (!this.#isForeign) this.#damaged(begin, `no record: ${shown(line)}`);
  }

  #good(record: OracleRecord, offset: number): void {
    const { number, kind, checksum } = record;
    this.#isForeign = this.#isInLine = false;
    if (number < this.#due) {
      this.#late(number, offset);
      return;
    }
    if (number > this.#due) this.#jump(number, offset);
    this.#isJoining = false;
    if (kind === "end") this.#end(record, offset);
    this.#due = number + 1;
    this.#records += 1;
    this.#sum = crc32(checksum, this.#sum);
  }

  #late(number: number, offset: number): void {
    if (this.#missing.take(number)) {
      this.#records += 1;
      this.#faults.note("disordered", offset, number);
    } else this.#faults.note("doubled", offset, number);
  }

  #jump(number: number, offset: number): void {
    if (this.#isJoining) {
      this.#skipped += number - this.#due;
    } else {
      this.#missing.add(this.#due, number - 1);
      this.#faults.note("lost", offset, this.#due, number - 1);
    }
  }

  #end({ number, payload }: OracleRecord, offset: number): void {
    this.#hasEnd = true;
    this.#isForeign = this.#isInShell;
    if (this.#hasSkipped || this.#faults.total > 0) return;
    const due = `oracle ends: ${number + 1} records, sum ${this.#sum.toString(16)}`;
    if (new TextDecoder().decode(payload) !== due) this.#damaged(offset, `the end is not "${due}"`);
  }

  #damaged(offset: number, detail: string): void {
    this.#faults.note("damaged", offset, this.#due, this.#due, detail);
  }
}

function shown(line: Uint8Array): string {
  return JSON.stringify(String.fromCharCode(...line.subarray(0, SHOWN_BYTES)));
}
