import * as fc from "fast-check";
import { expect, test } from "vitest";
import { concatBytes } from "../../../../src/lib/data/collect.ts";
import { eventLine, type JournalEvent, parseEventLine } from "../../../../src/sessions/journal/event.ts";
import { JournalQueue } from "../../../../src/sessions/journal/queue.ts";

const MIB = 1024 * 1024;

/** A queue of such pieces of output from `base` on, and all of its bytes. */
function queueOf(pieces: readonly Uint8Array[], base = 0): { queue: JournalQueue; whole: Uint8Array } {
  const queue = new JournalQueue();
  let offset = base;
  for (const bytes of pieces) {
    offset += bytes.length;
    queue.add({ time: 1, offset, kind: "o" }, bytes);
  }
  return { queue, whole: concatBytes(pieces) };
}

const events = (lines: string): (JournalEvent | undefined)[] =>
  lines.split("\n").slice(0, -1).map(parseEventLine);
const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 20 });

test("any range of the held output can be read", () => {
  return fc.assert(
    fc.property(pieces, fc.nat(1000), fc.nat(500), fc.nat(500), (all, base, first, second) => {
      const { queue, whole } = queueOf(all, base);
      const [from, to] = [base + Math.min(first, second), base + Math.max(first, second)];
      expect(concatBytes([...queue.read(from, to)])).toEqual(
        whole.slice(from - base, Math.max(0, to - base)),
      );
      expect(queue.start).toBe(base);
    }),
  );
});

test("a partial write is recorded, and the rest stays in the queue", () => {
  return fc.assert(
    fc.property(pieces, fc.array(fc.nat(40)), (all, counts) => {
      const { queue, whole } = queueOf(all);
      let done = 0;
      for (const wanted of counts) {
        const count = Math.min(wanted, queue.bytes);
        done += count;
        const last = events(queue.take(count)).at(-1);
        expect(last?.offset).toBe(count === 0 ? undefined : done);
        expect(concatBytes(queue.pieces())).toEqual(whole.slice(done));
        expect(queue.bytes).toBe(whole.length - done);
      }
    }),
  );
});

test("records leave the queue with the byte before them", () => {
  const { queue } = queueOf([new Uint8Array(10)]);
  queue.add({ time: 2, offset: 10, kind: "m", data: "here" });
  queue.add({ time: 3, offset: 15, kind: "o" }, new Uint8Array(5));
  queue.add({ time: 4, offset: 15, kind: "x", data: "0" });
  expect(queue.take(4)).toBe(eventLine({ time: 1, offset: 4, kind: "o" }));
  expect(events(queue.take(6)).map((event) => [event?.kind, event?.offset])).toEqual([
    ["o", 10],
    ["m", 10],
  ]);
  expect(events(queue.take(5)).map((event) => event?.kind)).toEqual(["o", "x"]);
  expect(queue.isEmpty).toBe(true);
});

test("the oldest entries are dropped first, and their range and last size are returned", () => {
  const queue = new JournalQueue();
  for (let at = 1; at <= 100; at++) {
    queue.add({ time: at, offset: 1000 + at * 100_000, kind: "o" }, new Uint8Array(100_000));
    queue.add({ time: at, offset: 1000 + at * 100_000, kind: "r", data: `${at}x24` });
  }
  // 41 of them are the most that 4 MiB have room for.
  const first = queue.drop(5 * MIB);
  const dropped = queue.drop(4 * MIB, first);
  const from = 1000 + 59 * 100_000;
  expect(dropped).toEqual({ time: 59, gap: { from: 1000, to: from }, size: "58x24" });
  expect(queue.start).toBe(from);
  expect(queue.cost).toBeLessThanOrEqual(4 * MIB);
  expect(queue.drop(4 * MIB, dropped)).toBe(dropped);
});

test("the cost of single bytes includes their entries", () => {
  const { queue } = queueOf(Array.from({ length: 100_000 }, () => new Uint8Array(1)));
  queue.drop(4 * MIB);
  expect(queue.bytes).toBeLessThan(17_000);
  queue.drop(0);
  expect([queue.isEmpty, queue.bytes, queue.recordBytes, queue.cost, queue.start]).toEqual([
    ...[true, 0, 0, 0, undefined],
  ]);
});

test("the text of records counts as memory, as that of recorded input", () => {
  const queue = new JournalQueue();
  for (let at = 1; at <= 8; at++) queue.add({ time: at, offset: 0, kind: "i", data: "x".repeat(MIB) });
  queue.drop(4 * MIB);
  expect(queue.recordBytes).toBeLessThanOrEqual(4 * MIB);
  expect(queue.isEmpty).toBe(false);
});
