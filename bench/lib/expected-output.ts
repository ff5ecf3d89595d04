import { readFileSync } from "node:fs";
import { throughTerminal } from "./load.ts";

/** The expected output of a program, as data that can be sent to another process. */
export type Expectation =
  /** READY, repeated blocks of `file`, END. */
  | { readonly kind: "load"; readonly file: string; readonly count: number }
  /** The first `bytes` bytes that the program writes of the block repeated. */
  | { readonly kind: "burst"; readonly file: string; readonly bytes: number }
  /** READY, then all typed input. */
  | { readonly kind: "echo" };

const encoder = new TextEncoder();
/** The received first line of every program but "burst". */
export const PREAMBLE: Uint8Array = encoder.encode("READY\r\n");
const TRAILER = encoder.encode("END\r\n");
const NOTHING = new Uint8Array(0);
/** A comparison covers at most this much at once. */
const STRIDE_BYTES = 1024 * 1024;

/** One program's whole output; checks bytes at a position. */
export class ExpectedOutput {
  /** Bytes in all; infinite for "echo". */
  readonly length: number;
  readonly #preamble: Uint8Array;
  readonly #trailer: Uint8Array;
  readonly #blockBytes: number;
  readonly #bodyEnd: number;
  /** The block, repeated so that STRIDE_BYTES from any place of it are one view. */
  readonly #tape: Buffer;

  constructor(expectation: Expectation) {
    const block = expectation.kind === "echo" ? NOTHING : throughTerminal(readFileSync(expectation.file));
    this.#preamble = expectation.kind === "burst" ? NOTHING : PREAMBLE;
    this.#trailer = expectation.kind === "load" ? TRAILER : NOTHING;
    this.#blockBytes = block.length;
    this.#bodyEnd = this.#preamble.length + bodyBytes(expectation, block.length);
    this.length = this.#bodyEnd + this.#trailer.length;
    this.#tape = Buffer.alloc(
      block.length === 0 ? 0 : block.length + STRIDE_BYTES,
      block.length === 0 ? 0 : block,
    );
  }

  /** Whether `bytes`, which arrived at `position`, are the program's output there. */
  matches(position: number, bytes: Uint8Array): boolean {
    if (position + bytes.length > this.length) return false;
    let done = 0;
    while (done < bytes.length) {
      const right = this.#at(position + done, bytes.length - done);
      if (right.compare(bytes, done, done + right.length) !== 0) return false;
      done += right.length;
    }
    return true;
  }

  /** Some of the output from `position` on: at least one byte, at most `length`. */
  #at(position: number, length: number): Buffer {
    if (position < this.#preamble.length) return view(this.#preamble, position, length);
    if (position >= this.#bodyEnd) return view(this.#trailer, position - this.#bodyEnd, length);
    const from = (position - this.#preamble.length) % this.#blockBytes;
    return this.#tape.subarray(from, from + Math.min(length, STRIDE_BYTES, this.#bodyEnd - position));
  }
}

function view(bytes: Uint8Array, from: number, length: number): Buffer {
  const end = Math.min(bytes.length, from + length);
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from);
}

function bodyBytes(expectation: Expectation, blockBytes: number): number {
  if (expectation.kind === "echo") return Number.POSITIVE_INFINITY;
  if (expectation.kind === "load") return expectation.count * blockBytes;
  const written = readFileSync(expectation.file);
  const rest = written.subarray(0, expectation.bytes % written.length);
  return Math.floor(expectation.bytes / written.length) * blockBytes + throughTerminal(rest).length;
}
