import { FAULT_KINDS, type FaultKind, type OracleFault } from "./faults.ts";

/**
 * The result for a stream. It counts faults: missing, repeated and reordered records, lines that are not records, gaps
 * and overlaps of offsets, a wrong checksum.
 */
export type OracleReport = Readonly<Record<FaultKind, number>> & {
  /** Whether the last record arrived. */
  readonly isComplete: boolean;
  /** Valid records, each counted once. */
  readonly records: number;
  /** Received bytes. */
  readonly bytes: number;
  /** Records before the place where the stream was joined, and those of a `skip`. */
  readonly skipped: number;
  /** The number of calls of `skip`: the server sent the screen instead of output. */
  readonly skips: number;
  /** The first 20. */
  readonly faults: readonly OracleFault[];
};

/** The faults as a readable text; undefined without faults. */
export function complaint(report: OracleReport): string | undefined {
  const { isComplete, records, bytes, skips, faults } = report;
  const counts = FAULT_KINDS.filter((kind) => report[kind] > 0).map((kind) => `${report[kind]} ${kind}`);
  const missing = isComplete ? [] : ["the end is missing"];
  const leftOut = skips === 0 ? "" : `; RESYNC in place of output: ${skips}`;
  if (counts.length + missing.length === 0) return undefined;
  const head = `oracle: ${[...counts, ...missing].join(", ")}; ${records} good records in ${bytes} bytes${leftOut}`;
  return [head, ...faults.map(({ offset, message }) => `  at byte ${offset}: ${message}`)].join("\n");
}
