import fc from "fast-check";
import { expect, test } from "vitest";
import { Ring } from "../../../../src/lib/data/ring.ts";

test("any sequence of operations matches a plain queue", () => {
  const step = fc.oneof(
    { weight: 20, arbitrary: fc.constant("push" as const) },
    { weight: 15, arbitrary: fc.constant("shift" as const) },
    { weight: 1, arbitrary: fc.constant("clear" as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const ring = new Ring<number>();
      let model: number[] = [];
      for (const [index, action] of steps.entries()) {
        if (action === "push") {
          ring.push(index);
          model.push(index);
        } else if (action === "shift") expect(ring.shift()).toBe(model.shift());
        else {
          ring.clear();
          model = [];
        }
        expect(ring.length).toBe(model.length);
        for (let at = -model.length - 1; at <= model.length; at++) expect(ring.at(at)).toBe(model.at(at));
      }
    }),
  );
});
