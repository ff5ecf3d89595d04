import { FAULT_KINDS, type FaultKind, type OracleFault } from "./faults.ts";

/** What became of a stream. The faults are counted: records that never came, that came again, that came after a later one,
 * and lines that are no record, gaps and overlaps of offsets, a sum that is wrong. */
export type OracleReport = Readonly<Record<FaultKind, number>> & {
  /** Whether the last record came. */
  readonly isComplete: boolean;
  /** Good ones, each counted once. */
  readonly records: number;
  /** Bytes taken. */
  readonly bytes: number;
  /** Records before the place where the stream was joined, and those that a `skip` left out. */
  readonly skipped: number;
  /** How often `skip` was called: the server sent the screen in place of output. */
  readonly skips: number;
  /** The first 20. */
  readonly faults: readonly OracleFault[];
};

/** What is wrong, for a person; undefined where nothing is. */
export function complaint(report: OracleReport): string | undefined {
  const { isComplete, records, bytes, skips, faults } = report;
  const counts = FAULT_KINDS.filter((kind) => report[kind] > 0).map((kind) => `${report[kind]} ${kind}`);
  const missing = isComplete ? [] : ["the end is missing"];
  const leftOut = skips === 0 ? "" : `; RESYNC in place of output: ${skips}`;
  if (counts.length + missing.length === 0) return undefined;
  const head = `oracle: ${[...counts, ...missing].join(", ")}; ${records} good records in ${bytes} bytes${leftOut}`;
  return [head, ...faults.map(({ offset, message }) => `  at byte ${offset}: ${message}`)].join("\n");
}
