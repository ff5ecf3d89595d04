import * as fc from "fast-check";
import { expect, test } from "vitest";
import { concatBytes } from "../../../src/lib/collect.ts";
import { RecentOutput } from "../../../src/sessions/recent-output.ts";

const MIB = 1024 * 1024;

function piece(offset: number, bytes: Uint8Array) {
  return { offset, bytes, frame: bytes };
}

test("holds the last 4 MiB, oldest dropped first", () => {
  const recent = new RecentOutput();
  for (let at = 0; at < 100; at++) {
    recent.add(piece(1000 + at * 100_000, new Uint8Array(100_000)));
    expect(concatBytes([...recent.read(0, Number.MAX_SAFE_INTEGER)]).length).toBeLessThanOrEqual(4 * MIB);
  }
  // 41 of them are the most that 4 MiB have room for.
  expect(recent.start).toBe(1000 + 59 * 100_000);
});

test("gives any stretch of what it holds", () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 20 });
  return fc.assert(
    fc.property(pieces, fc.nat(1000), fc.nat(500), fc.nat(500), (all, base, first, second) => {
      const recent = new RecentOutput();
      let offset = base;
      for (const bytes of all) {
        recent.add(piece(offset, bytes));
        offset += bytes.length;
      }
      const whole = concatBytes(all);
      const [from, to] = [base + Math.min(first, second), base + Math.max(first, second)];
      expect(concatBytes([...recent.read(from, to)])).toEqual(
        new Uint8Array(whole.slice(from - base, Math.max(0, to - base))),
      );
      expect(recent.start).toBe(base);
    }),
  );
});

test("reading goes on over what is added and dropped meanwhile", () => {
  const recent = new RecentOutput();
  for (let at = 0; at < 4; at++) recent.add(piece(at * MIB, new Uint8Array(MIB).fill(at)));
  const reading = recent.read(0, 4 * MIB);
  const first = reading.next().value;
  for (let at = 4; at < 8; at++) recent.add(piece(at * MIB, new Uint8Array(MIB).fill(at)));
  expect([first, ...reading].map((bytes) => bytes?.[0])).toEqual([0, 1, 2, 3]);
  expect(recent.start).toBe(4 * MIB);
});
