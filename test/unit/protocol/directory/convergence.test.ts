// Random schedules of events, cuts, restarts and reused ids: whatever happens on the way, the directory has in the end
// what the source has. TTYHQ_TEST_SCHEDULES says how many schedules, TTYHQ_TEST_SEED which.
import { env } from "node:process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Simulation } from "./simulated-source.ts";

const SCHEDULES = Number(env.TTYHQ_TEST_SCHEDULES ?? 100_000);
const SEED = Number(env.TTYHQ_TEST_SEED ?? Date.now() & 0x7fffffff);

const schedule = fc.record({
  isFiltered: fc.boolean(),
  // Now and then: such a source is listed after every change.
  isUnnumbered: fc.nat(7).map((choice) => choice === 0),
  steps: fc.array(fc.nat(0xffff), { maxLength: 60, size: "max" }),
});

test(`the directory converges to its source, and what it tells is a history (${SCHEDULES} schedules, seed ${SEED})`, () => {
  fc.assert(
    fc.property(schedule, ({ steps, ...options }) => {
      const simulation = new Simulation(options);
      for (const step of steps) simulation.step(step);
      simulation.settle();
      const { directory, mirror, shown } = simulation;
      expectSame(directory.records, shown);
      expectSame(mirror, shown);
      for (const record of shown.values()) expectSame(directory.byId(record.id), record);
      if (!directory.isCurrent) throw new Error("the directory does not know that it has everything");
    }),
    { numRuns: SCHEDULES, seed: SEED },
  );
});

/** Cheaper than `expect` by far. */
function expectSame(actual: unknown, wanted: unknown): void {
  const [one, other] = [canonical(actual), canonical(wanted)];
  if (one !== other) expect(one).toBe(other);
}

function canonical(value: unknown): string {
  return JSON.stringify(value instanceof Map ? [...value].sort() : value);
}
