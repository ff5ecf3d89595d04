import { expect, test } from "vitest";
import { FULL_BYTES, OutputQueue, ROOM_BYTES } from "../../../../src/web/terminal/output-queue.ts";

const KIB = 1024;

/** A parser that parses when it is told to, so many bytes a millisecond. */
function slowParser(rate = 1000) {
  const clock = { now: 0 };
  const waiting: { readonly bytes: Uint8Array; readonly parsed: () => void }[] = [];
  const heard: string[] = [];
  const seen: number[] = [];
  const queue = new OutputQueue({
    parse: (bytes, parsed) => void waiting.push({ bytes, parsed }),
    onFull: () => heard.push("full"),
    onRoom: () => heard.push("room"),
    now: () => clock.now,
  });
  const parseOne = (): boolean => {
    const next = waiting.shift();
    if (next !== undefined) seen.push(...next.bytes);
    clock.now += (next?.bytes.length ?? 0) / rate;
    next?.parsed();
    return next !== undefined;
  };
  const parseAll = (): void => {
    while (parseOne());
  };
  const given = (): number => waiting.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return { queue, heard, seen, parseOne, parseAll, waiting, given, clock };
}

test("bytes come out in the order in which they came in, however they were cut", () => {
  const { queue, seen, parseAll } = slowParser();
  const bytes = Uint8Array.from({ length: 200 * KIB }, (_, index) => index % 251);
  queue.push(0, bytes.subarray(0, 3));
  queue.push(3, bytes.subarray(3, 150 * KIB));
  queue.push(150 * KIB, bytes.subarray(150 * KIB));
  parseAll();
  expect(Uint8Array.from(seen)).toEqual(bytes);
  expect(queue.unparsedBytes).toBe(0);
});

test("the parser is given 50 ms of work at a time, by the rate that it shows", () => {
  for (const rate of [500, 2000, 6000]) {
    const { queue, parseOne, given } = slowParser(rate);
    queue.push(0, new Uint8Array(KIB * KIB));
    for (let piece = 0; piece < 10; piece += 1) parseOne();
    expect(given()).toBeLessThanOrEqual(50 * rate);
    expect(given()).toBeGreaterThan(50 * rate - 17 * KIB);
  }
});

test("a parser with little input, or in a hidden window, is not considered slow", () => {
  const { queue, parseOne, clock } = slowParser();
  const before = queue.parsingLimit;
  queue.push(0, new Uint8Array(3));
  clock.now += 50;
  parseOne();
  expect(queue.parsingLimit).toBe(before);
  queue.push(3, new Uint8Array(KIB * KIB));
  clock.now += 1000;
  parseOne();
  expect(queue.parsingLimit).toBe(before);
});

test("the owner is told once that the queue is full, and once that there is room", () => {
  const { queue, heard, parseOne, parseAll } = slowParser();
  queue.push(0, new Uint8Array(FULL_BYTES));
  expect(heard).toEqual([]);
  queue.push(FULL_BYTES, new Uint8Array(1));
  queue.push(FULL_BYTES + 1, new Uint8Array(100 * KIB));
  expect(heard).toEqual(["full"]);
  while (queue.unparsedBytes > ROOM_BYTES) parseOne();
  expect(heard).toEqual(["full", "room"]);
  parseAll();
  expect(heard).toEqual(["full", "room"]);
});

test("while something is parsed its offset is known, and otherwise none", () => {
  const { queue, waiting } = slowParser();
  queue.push(1000, new Uint8Array(20 * KIB));
  expect(queue.parsingOffset).toBe(1000);
  waiting[0]?.parsed();
  expect(queue.parsingOffset).toBe(1000 + 16 * KIB);
  waiting[1]?.parsed();
  expect(queue.parsingOffset).toBeUndefined();
});

test("callbacks run after their bytes and before later ones", () => {
  const { queue, seen, parseOne } = slowParser();
  const order: string[] = [];
  queue.push(0, Uint8Array.of(1));
  queue.afterwards(() => order.push(`after ${seen.join()}`));
  queue.push(1, Uint8Array.of(2));
  parseOne();
  parseOne();
  expect(order).toEqual(["after 1"]);
});

test("forgetting bytes does not forget what was to follow them", () => {
  const { queue, seen, parseAll } = slowParser();
  const order: string[] = [];
  queue.push(0, new Uint8Array(600 * KIB));
  queue.push(600 * KIB, Uint8Array.of(7));
  queue.afterwards(() => order.push("done"));
  queue.clear();
  parseAll();
  expect(order).toEqual(["done"]);
  expect(seen).not.toContain(7);
  expect(queue.unparsedBytes).toBe(0);
});
