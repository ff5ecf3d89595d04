import { ORACLE_FUNCTIONS, type OracleSpec } from "./source.ts";

export type OracleOptions = {
  /** The minimum length of the stream, which exceeds it by at most one record. */
  readonly bytes: number;
  /** Equal seeds give equal streams; the checker needs it, too. 0 to 2^32 - 1, default 1. */
  readonly seed?: number;
  /** Adds control sequences, UTF-8 and bytes that are not text, at random among the records. */
  readonly isWild?: boolean;
  /** Default: as fast as it is read. */
  readonly linesPerSecond?: number;
  /** Waits for any input after its first record. */
  readonly waitsForKey?: boolean;
  /** The name of Node where the program runs. */
  readonly node?: string;
};

/**
 * The command of a program for an OracleChecker. It prints numbered records with checksums, of random lengths, and
 * finally their count. It needs only Node 22.2 there, by name. It prints the same bytes on a terminal and through a
 * pipe; on a terminal it echoes nothing, and Ctrl-C ends it. It ends with code 0.
 */
export function oracleProgram(options: OracleOptions): string[] {
  const spec: OracleSpec = {
    bytes: options.bytes,
    seed: options.seed ?? 1,
    isWild: options.isWild ?? false,
    linesPerSecond: options.linesPerSecond ?? 0,
    waitsForKey: options.waitsForKey ?? false,
  };
  const machine = '{ ...process, crc32: require("node:zlib").crc32 }';
  const functions = ORACLE_FUNCTIONS.map(compact).join("\n");
  return [options.node ?? "node", "-e", `${functions}\nprintOracle(${JSON.stringify(spec)}, ${machine});`];
}

/** No string of these functions has two consecutive spaces or a line feed. */
function compact(text: (...parameters: never[]) => unknown): string {
  return String(text)
    .replace(/\s*\n\s*/g, "\n")
    .replace(/ {2,}/g, " ");
}
