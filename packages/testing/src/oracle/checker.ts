import { crc32 } from "node:zlib";
import { type OracleFault, OracleFaults } from "./faults.ts";
import { OracleLine } from "./line.ts";
import { MissingNumbers } from "./missing-numbers.ts";
import { type OracleRecord, readOracleRecord } from "./record.ts";
import { complaint, type OracleReport } from "./report.ts";

export type OracleCheckerOptions = {
  /** The program's; 1 unless given. Records of another seed are damage. */
  readonly seed?: number;
  /** "middle": the stream is joined where it happens to be. From its first byte unless given. */
  readonly from?: "start" | "middle";
  /** The program was typed into a shell: what stands before its first record and after its last is not looked at. */
  readonly isInShell?: boolean;
};

const FIRST_RECORD = "000000000 B ";
/** Of a damaged line, told in its fault. */
const SHOWN_BYTES = 60;

/**
 * Takes what an oracleProgram printed, in pieces of any size, and tells what was lost, doubled, disordered or damaged on
 * the way. Every byte is covered: each record has a number and a checksum with the seed in it, the last one their count and
 * the checksum of all checksums. Holds one line of at most 4 KiB and what
 * MissingNumbers and OracleFaults hold.
 */
export class OracleChecker {
  readonly #seed: number;
  readonly #isInShell: boolean;
  readonly #faults = new OracleFaults();
  readonly #missing = new MissingNumbers();
  readonly #line = new OracleLine();
  /** A shell's lines may come now. */
  #isForeign: boolean;
  /** The stream was joined in the middle of a line, so that the next one may be the rest of a record. */
  #isInLine: boolean;
  /** The next record may be any later one. */
  #isJoining: boolean;
  #hasEnd = false;
  #hasSkipped: boolean;
  #due = 0;
  #records = 0;
  #skipped = 0;
  #skips = 0;
  #bytes = 0;
  #sum = 0;
  /** The offset of the byte that comes next. */
  #next: number | undefined;

  constructor({ seed = 1, from = "start", isInShell = false }: OracleCheckerOptions = {}) {
    this.#seed = seed;
    this.#isInShell = isInShell;
    this.#isForeign = isInShell;
    this.#isInLine = this.#isJoining = this.#hasSkipped = from === "middle";
  }

  /** The bytes that come next. Where their offset is given it has to be that of the byte after the last one. */
  take(bytes: Uint8Array, offset = this.#next ?? 0): void {
    const due = this.#next ?? offset;
    if (offset !== due) this.#damaged(due, `offset ${offset} in place of ${due}`);
    this.#next = offset + bytes.length;
    this.#bytes += bytes.length;
    this.#line.take(bytes, offset, (line, begin) => this.#took(line, begin));
  }

  /** The output is left out up to a byte, and nobody is to blame: as RESYNC does, and a viewer who joins late. */
  skip(offset: number): void {
    this.#line.clear();
    this.#skips += 1;
    this.#next = offset;
    this.#isInLine = this.#isJoining = this.#hasSkipped = true;
  }

  /** The last record came, whatever came before it. */
  get isComplete(): boolean {
    return this.#hasEnd;
  }

  /** As far as the stream was taken. */
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

  /** The stream is at its end. Throws an Error that says what is wrong with it; returns the report where nothing is. */
  verify(): OracleReport {
    this.#line.end((line, begin) => this.#took(line, begin));
    const { report } = this;
    const problem = complaint(report);
    if (problem !== undefined) throw new Error(problem);
    return report;
  }

  #took(line: Uint8Array, begin: number): void {
    // A shell's prompt may stand before the first record, on its line.
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
