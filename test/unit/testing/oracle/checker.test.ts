import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OracleChecker, type OracleCheckerOptions } from "../../../../packages/testing/src/oracle/checker.ts";
import type { OracleReport } from "../../../../packages/testing/src/oracle/report.ts";
import { joined, oracleStream } from "../oracle-stream.ts";

const RECORDS = oracleStream();
const WHOLE = joined(RECORDS);

function reportOf(bytes: Uint8Array, options: OracleCheckerOptions = {}): OracleReport {
  const checker = new OracleChecker(options);
  checker.take(bytes);
  return checker.report;
}

function without(...numbers: readonly number[]): Uint8Array {
  return joined(RECORDS.filter((_, number) => !numbers.includes(number)));
}

test("a stream that came as it was printed is complete and has no fault", () => {
  const checker = new OracleChecker();
  checker.take(WHOLE);
  const { length: records } = RECORDS;
  const none = { lost: 0, doubled: 0, disordered: 0, damaged: 0, skipped: 0, skips: 0, faults: [] };
  expect(checker.verify()).toEqual({ isComplete: true, records, bytes: WHOLE.length, ...none });
});

describe("told exactly", () => {
  test("records that never came", () => {
    expect(reportOf(without(5, 6, 7, 9))).toMatchObject({
      ...{ lost: 4, doubled: 0, disordered: 0, damaged: 0, records: RECORDS.length - 4 },
      faults: [
        { kind: "lost", first: 5, last: 7, offset: joined(RECORDS.slice(0, 5)).length },
        { kind: "lost", first: 9, last: 9, message: "record 9 did not come" },
      ],
    });
  });

  test("repeated records", () => {
    const twice = [...RECORDS.slice(0, 8), ...RECORDS.slice(5)];
    expect(reportOf(joined(twice))).toMatchObject({
      ...{ lost: 0, doubled: 3, disordered: 0, damaged: 0, records: RECORDS.length },
      faults: [{ kind: "doubled", first: 5, last: 7, message: "records 5 to 7 came again" }],
    });
  });

  test("reordered records, which do not count as lost", () => {
    const swapped = [
      ...RECORDS.slice(0, 3),
      ...RECORDS.slice(5, 9),
      ...RECORDS.slice(3, 5),
      ...RECORDS.slice(9),
    ];
    expect(reportOf(joined(swapped))).toMatchObject({
      ...{ lost: 0, doubled: 0, disordered: 2, damaged: 0, records: RECORDS.length },
      faults: [{ kind: "disordered", first: 3, last: 4 }],
    });
  });

  test("a byte that changed, by its line", () => {
    const bytes = WHOLE.slice();
    const offset = joined(RECORDS.slice(0, 4)).length;
    bytes[offset + 20] = 0x7e;
    const { faults, ...counts } = reportOf(bytes);
    expect(counts).toMatchObject({ damaged: 1, lost: 1, doubled: 0, disordered: 0 });
    expect(faults[0]).toMatchObject({ kind: "damaged", offset, first: 4 });
    expect(faults[0]?.message).toMatch(/^no record: "000000004 D .*where record 4 was due$/);
  });

  test("an end that never came", () => {
    const checker = new OracleChecker();
    checker.take(joined(RECORDS.slice(0, -1)));
    expect(() => checker.verify()).toThrow(/^oracle: the end is missing; \d+ good records in \d+ bytes$/);
  });

  test("offsets that leave bytes out or come again", () => {
    const checker = new OracleChecker();
    const [head, tail] = [WHOLE.subarray(0, 500), WHOLE.subarray(500)];
    checker.take(head, 1_000);
    checker.take(tail, 1_510);
    expect(checker.report.faults).toMatchObject([
      { kind: "damaged", offset: 1_500, message: expect.stringContaining("offset 1510 in place of 1500") },
    ]);
  });

  test("records of another session, though their numbers fit", () => {
    const other = oracleStream({ seed: 2 });
    const mixed = [...RECORDS.slice(0, 6), ...other.slice(6, 7), ...RECORDS.slice(7)];
    expect(reportOf(joined(mixed))).toMatchObject({ damaged: 1, lost: 1 });
  });

  test("an end that counts something else", () => {
    const longer = oracleStream({ bytes: 4_000 });
    const checker = new OracleChecker();
    const begin = joined([...RECORDS.slice(0, 1), ...longer.slice(1)]);
    checker.take(begin);
    expect(() => checker.verify()).toThrow(/the end is not "oracle ends: \d+ records, sum [0-9a-f]+"/);
  });
});

describe("a stream that is not there from its first byte", () => {
  test("joined in the middle, begins with the next whole record", () => {
    const cut = joined(RECORDS.slice(0, 4)).length + 7;
    const checker = new OracleChecker({ from: "middle" });
    checker.take(WHOLE.subarray(cut));
    expect(checker.verify()).toMatchObject({ skipped: 5, records: RECORDS.length - 5 });
  });

  test("goes on after a skip, and is checked there as before", () => {
    const [from, to] = [joined(RECORDS.slice(0, 4)).length + 7, joined(RECORDS.slice(0, 9)).length];
    const checker = new OracleChecker();
    checker.take(WHOLE.subarray(0, from), 0);
    checker.skip(to);
    expect(() => checker.verify()).toThrow("the end is missing; 4 good records in");
    expect(() => checker.verify()).toThrow("; RESYNC in place of output: 1");
    checker.take(WHOLE.subarray(to), to);
    expect(checker.verify()).toMatchObject({ skipped: 5, skips: 1 });
    const faulty = new OracleChecker();
    faulty.take(WHOLE.subarray(0, from), 0);
    faulty.skip(to);
    faulty.take(joined([...RECORDS.slice(9, 11), ...RECORDS.slice(12)]), to);
    expect(faulty.report).toMatchObject({ skipped: 5, lost: 1 });
  });

  test("that was typed into a shell has its lines around it", () => {
    const around = joined([
      new TextEncoder().encode("$ node -e …\r\n> "),
      WHOLE,
      new TextEncoder().encode("$ exit\r\n"),
    ]);
    const checker = new OracleChecker({ isInShell: true });
    checker.take(around);
    expect(checker.verify()).toMatchObject({ damaged: 0, records: RECORDS.length });
    expect(reportOf(around)).toMatchObject({ damaged: 3 });
  });
});

test("a line that never ends is held to 4 KiB, and what follows is read again", () => {
  const checker = new OracleChecker();
  for (let piece = 0; piece < 50; piece++) checker.take(new Uint8Array(10_000).fill(0x41));
  checker.take(Uint8Array.of(0x0a));
  checker.take(WHOLE);
  expect(checker.report).toMatchObject({ damaged: 1, lost: 0, records: RECORDS.length, isComplete: true });
});

const stream = fc
  .record({ seed: fc.nat(1_000), isWild: fc.boolean(), bytes: fc.integer({ min: 300, max: 4_000 }) })
  .map((spec) => ({ spec, bytes: joined(oracleStream(spec)) }));

test("any cut into pieces is the same", () => {
  fc.assert(
    fc.property(stream, fc.infiniteStream(fc.integer({ min: 1, max: 700 })), ({ spec, bytes }, sizes) => {
      const checker = new OracleChecker(spec);
      let offset = 0;
      for (const size of sizes) {
        checker.take(bytes.slice(offset, offset + size), offset);
        offset += size;
        if (offset >= bytes.length) break;
      }
      expect(checker.verify().bytes).toBe(bytes.length);
    }),
    { numRuns: 200 },
  );
});

/** What can happen to a stream on its way; places are parts of its length. */
type Mishap = (bytes: Uint8Array, at: readonly [number, number, number]) => readonly Uint8Array[];

const MISHAPS: Readonly<Record<string, Mishap>> = {
  cut: (bytes, [a]) => [bytes.subarray(0, a)],
  "lost head": (bytes, [a]) => [bytes.subarray(a)],
  drop: (bytes, [a, b]) => [bytes.subarray(0, a), bytes.subarray(b)],
  double: (bytes, [a, b]) => [bytes.subarray(0, b), bytes.subarray(a)],
  "double later": (bytes, [a, b, c]) => [bytes.subarray(0, c), bytes.subarray(a, b), bytes.subarray(c)],
  swap: (bytes, [a, b, c]) => [
    bytes.subarray(0, a),
    bytes.subarray(b, c),
    bytes.subarray(a, b),
    bytes.subarray(c),
  ],
  flip: (bytes, [a]) => [bytes.map((byte, index) => (index === a ? byte ^ 0x01 : byte))],
};

test.each(Object.entries(MISHAPS))("%s is always found", (_, mishap) => {
  const place = fc.nat(9_999).map((part) => part / 10_000);
  fc.assert(
    fc.property(stream, fc.tuple(place, place, place), ({ spec, bytes }, parts) => {
      const [a = 0, b = 0, c = 0] = parts
        .map((part) => Math.floor(part * bytes.length))
        .sort((x, y) => x - y);
      const what = joined(mishap(bytes, [a, b, c]));
      const checker = new OracleChecker(spec);
      checker.take(what);
      if (Buffer.compare(what, bytes) === 0) expect(checker.verify().isComplete).toBe(true);
      else expect(() => checker.verify()).toThrow(/^oracle: /);
    }),
    { numRuns: 300 },
  );
});
