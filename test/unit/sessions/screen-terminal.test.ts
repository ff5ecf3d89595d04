import fc from "fast-check";
import { expect, test } from "vitest";
import { ScreenTerminal } from "../../../src/sessions/screen-terminal.ts";
import { stateOf } from "./terminal-state.ts";
import { output, size } from "./terminal-stream.ts";

const RUNS = Number(process.env.RUNS ?? 2000);
test("a terminal that gets the drawing is in the same state", () => {
  fc.assert(
    fc.property(size, output, (cells, bytes) => {
      using a = new ScreenTerminal(cells);
      a.write(bytes);
      using b = new ScreenTerminal(cells);
      b.write(a.drawing());
      expect(stateOf(b)).toEqual(stateOf(a));
    }),
    { numRuns: RUNS },
  );
}, 600_000);
