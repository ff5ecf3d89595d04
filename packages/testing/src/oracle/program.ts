import { ORACLE_FUNCTIONS, type OracleSpec } from "./source.ts";

export type OracleOptions = {
  /** The stream is at least that long, and at most by one record longer. */
  readonly bytes: number;
  /** The same seed gives the same stream; the checker needs it, too. 0 to 2^32 - 1, 1 unless given. */
  readonly seed?: number;
  /** Control sequences, UTF-8 and bytes that are no text, at random among the records. */
  readonly isWild?: boolean;
  /** As fast as it is taken unless given. */
  readonly linesPerSecond?: number;
  /** Prints its first record and goes on when it gets any input. */
  readonly waitsForKey?: boolean;
  /** What Node is called where the program runs. */
  readonly node?: string;
};

/**
 * The command of a program that prints numbered records with checksums, at random lengths, and at last how many they were:
 * what an OracleChecker checks. It needs Node 22.2 there, by name, and nothing else. On a terminal and through a pipe it
 * prints the same bytes; on a terminal it echoes nothing, and Ctrl-C ends it. It ends with code 0.
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

/** No string of these functions has two spaces in a row or a line feed in it. */
function compact(text: (...parameters: never[]) => unknown): string {
  return String(text)
    .replace(/\s*\n\s*/g, "\n")
    .replace(/ {2,}/g, " ");
}
