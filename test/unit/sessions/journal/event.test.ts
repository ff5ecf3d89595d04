import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  eventLine,
  exitData,
  type JournalEvent,
  type JournalExit,
  parseEventLine,
  parseExitData,
} from "../../../../src/sessions/journal/event.ts";

const event: fc.Arbitrary<JournalEvent> = fc.record(
  {
    time: fc.integer({ min: 0, max: 2 ** 40 }).map((microseconds) => Number((microseconds / 1e6).toFixed(6))),
    offset: fc.maxSafeNat(),
    kind: fc.constantFrom("o", "r", "m", "i", "x"),
    data: fc.string({ unit: "binary" }),
  },
  { requiredKeys: ["time", "offset", "kind"] },
);

test("a record is a readable line", () => {
  expect(eventLine({ time: 0, offset: 0, kind: "r", data: "80x24" })).toBe('[0.000000,0,"r","80x24"]\n');
  expect(eventLine({ time: 1.5, offset: 12, kind: "o" })).toBe('[1.500000,12,"o"]\n');
  expect(eventLine({ time: 61.0000004, offset: 9, kind: "m", data: 'a "b"\n' })).toBe(
    '[61.000000,9,"m","a \\"b\\"\\n"]\n',
  );
});

test("reading a record and writing it again gives the same line", () => {
  return fc.assert(
    fc.property(event, (written) => {
      const line = eventLine(written);
      expect(line.indexOf("\n")).toBe(line.length - 1);
      const read = parseEventLine(line);
      expect(read).toEqual(written);
      expect(read && eventLine(read)).toBe(line);
    }),
  );
});

test("no part of a record parses as a record", () => {
  return fc.assert(
    fc.property(event, fc.nat(), (written, cut) => {
      const line = eventLine(written).trimEnd();
      expect(parseEventLine(line.slice(0, cut % line.length))).toBeUndefined();
    }),
  );
});

test.each([
  "",
  "null",
  "{}",
  "[]",
  "[1,2]",
  '["1",2,"o"]',
  '[1,"2","o"]',
  '[1,2,"z"]',
  "[1,2,3]",
  "\0\0\0",
  '[1e999,2,"o"',
])("%j is no record", (line) => {
  expect(parseEventLine(line)).toBeUndefined();
});

test.each<[JournalExit, string]>([
  [{ code: 0, reason: "exit" }, "0"],
  [{ code: 255, reason: "exit" }, "255"],
  [{ code: 137, reason: "signal", signal: "SIGKILL" }, "137 SIGKILL"],
  [{ code: 129, reason: "host_lost" }, "129 host_lost"],
])("the exit %j is %j", (exit, data) => {
  expect(exitData(exit)).toBe(data);
  expect(parseExitData(data)).toEqual(exit);
});
