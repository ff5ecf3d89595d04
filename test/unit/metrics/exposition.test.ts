import { expect, test } from "vitest";
import { familiesBeside, familiesOf, valueLines } from "../../../src/metrics/exposition.ts";

test("plain values, labelled values and values that are not numbers are written", () => {
  const family = { name: "a_bytes", help: "How much." };
  const head = "# HELP a_bytes How much.\n# TYPE a_bytes gauge\n";
  expect(valueLines(family, "gauge", 1.5)).toBe(`${head}a_bytes 1.5\n`);
  expect(
    valueLines(family, "gauge", [
      [{ way: "in", of: "x" }, 1],
      [{ way: "out" }, Number.NaN],
    ]),
  ).toBe(`${head}a_bytes{way="in",of="x"} 1\na_bytes{way="out"} NaN\n`);
  expect(valueLines(family, "gauge", [])).toBe(head);
});

test("label values are escaped", () => {
  expect(valueLines({ name: "a", help: "One\nline \\." }, "gauge", [[{ of: 'a"b\\c\nd' }, 1]])).toBe(
    '# HELP a One\\nline \\\\.\n# TYPE a gauge\na{of="a\\"b\\\\c\\nd"} 1\n',
  );
});

test("known families of another process are left out", () => {
  const known = valueLines({ name: "a", help: "A." }, "gauge", 1);
  const more = valueLines({ name: "b", help: "B." }, "counter", [[{ of: "x" }, 2]]);
  expect(familiesOf(known + more)).toEqual(["a", "b"]);
  expect(familiesBeside(`${more}\n${known}`, new Set(["a"]))).toBe(more);
});
