import { crc32 } from "node:zlib";
import { type OracleSpec, oracleRecords } from "../../../packages/testing/src/oracle/source.ts";
import { concatBytes } from "../../../src/lib/data/collect.ts";

/** What an oracle prints, record by record. */
export function oracleStream(spec: Partial<OracleSpec> = {}): readonly Uint8Array[] {
  const whole = { bytes: 3_000, seed: 1, isWild: false, linesPerSecond: 0, waitsForKey: false, ...spec };
  return [...oracleRecords(whole, crc32, "\r\n")];
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return concatBytes(pieces);
}
