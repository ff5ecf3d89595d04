// The scale of repeated and random tests: full in `npm run test:long`, a third in CI, a fifth elsewhere.
import { randomInt } from "node:crypto";

const SCALE = Number(process.env.TTYHQ_TEST_SCALE ?? 0.2);

export const IN_FULL = SCALE >= 1;

/** The same seed repeats the choices of a failed run. `scripts/test.ts` draws one for each run and prints it. */
export const SEED = Number(process.env.TTYHQ_TEST_SEED ?? randomInt(2 ** 31));

/** This run's part of a count that `npm run test:long` performs in full, at least 1. */
export function scaled(count: number): number {
  return Math.max(1, Math.ceil(count * SCALE));
}
