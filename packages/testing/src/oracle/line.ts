import { concatBytes } from "../../../../src/lib/data/collect.ts";
import { MAX_RECORD_BYTES } from "./record.ts";

/**
 * A line with its line feed (except an unfinished last one), truncated if it is longer than any record, and the offset
 * of its first byte.
 */
export type TakeLine = (line: Uint8Array, begin: number) => void;

const LINE_FEED = 10;
/** More than any record, so that a truncated line is never valid. */
const MAX_LINE_BYTES = MAX_RECORD_BYTES + 1;

/** Assembles lines from pieces. Holds one of at most 4 KiB; drops the rest of longer ones. */
export class OracleLine {
  #begun: Uint8Array = new Uint8Array(0);
  #begin: number | undefined;

  /** The line may be a view of `bytes`, valid until `give` returns. */
  take(bytes: Uint8Array, offset: number, give: TakeLine): void {
    let at = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, at)) {
      const rest = bytes.subarray(at, end + 1);
      const line = this.#begun.length === 0 ? rest : this.#with(rest);
      const begin = this.#begin ?? offset + at;
      this.clear();
      at = end + 1;
      give(line, begin);
    }
    if (at === bytes.length) return;
    this.#begin ??= offset + at;
    this.#begun = this.#with(bytes.subarray(at));
  }

  /** The input has ended: an unfinished line counts as one. */
  end(give: TakeLine): void {
    const [line, begin] = [this.#begun, this.#begin];
    this.clear();
    if (begin !== undefined) give(line, begin);
  }

  clear(): void {
    this.#begun = new Uint8Array(0);
    this.#begin = undefined;
  }

  #with(rest: Uint8Array): Uint8Array {
    return concatBytes([this.#begun, rest.subarray(0, MAX_LINE_BYTES - this.#begun.length)]);
  }
}
