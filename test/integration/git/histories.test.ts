import fc from "fast-check";
import { expect, test } from "vitest";
import { SEED, scaled } from "../harness/scale.ts";
import { History } from "./follow-history.ts";
import type { Step } from "./follow-step.ts";

const RUNS = scaled(60);
const MAX_STEPS = 10;

const place = fc.constantFrom("main", "tree");
const file = fc.integer({ min: 0, max: 1 });
const branch = fc.integer({ min: 0, max: 2 });
const kinds = <K extends string>(...names: readonly [K, ...K[]]): fc.Arbitrary<K> =>
  fc.constantFrom(...names);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: kinds("commit", "edit", "stage", "untracked", "ignored"), in: place, file }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: kinds("commitAll", "amend", "reset", "softReset", "stash", "pop"),
      in: place,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: kinds("switch", "create", "merge", "rebase", "cherryPick"), branch }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kinds("mergeInMain"), branch }) },
  { weight: 2, arbitrary: fc.record({ kind: kinds("detach", "follow", "follow", "leave") }) },
);

test(
  "whatever is done in both trees, no commit and no edit is lost, and both are where the rules say",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: MAX_STEPS }), async (steps) => {
        await using history = await History.begin();
        for (const [index, one] of steps.entries()) {
          await history.step(one);
          expect(await history.check(), `after step ${index}`).toEqual([]);
        }
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    );
  },
  RUNS * 30_000,
);

test(
  "who does not wait for follow mode loses nothing either",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: MAX_STEPS }), async (steps) => {
        await using history = await History.begin();
        for (const one of steps) await history.hurriedStep(one);
        await history.rest();
        expect(await history.lost()).toEqual([]);
      }),
      { numRuns: Math.ceil(RUNS / 4), seed: SEED, endOnFailure: true },
    );
  },
  RUNS * 30_000,
);
