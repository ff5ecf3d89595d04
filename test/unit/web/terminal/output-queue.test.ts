import { expect, test } from "vitest";
import { FULL_BYTES, OutputQueue, ROOM_BYTES } from "../../../../src/web/terminal/output-queue.ts";

const KIB = 1024;

/** A parser that parses when it is told to. */
function slowParser() {
  const waiting: { readonly bytes: Uint8Array; readonly parsed: () => void }[] = [];
  const heard: string[] = [];
  const seen: number[] = [];
  const queue = new OutputQueue({
    parse: (bytes, parsed) => void waiting.push({ bytes, parsed }),
    onFull: () => heard.push("full"),
    onRoom: () => heard.push("room"),
  });
  const parseOne = (): boolean => {
    const next = waiting.shift();
    if (next !== undefined) seen.push(...next.bytes);
    next?.parsed();
    return next !== undefined;
  };
  const parseAll = (): void => {
    while (parseOne());
  };
  return { queue, heard, seen, parseOne, parseAll, waiting };
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

test("the parser is never given much more than it can get rid of soon", () => {
  const { queue, waiting } = slowParser();
  queue.push(0, new Uint8Array(3 * KIB * KIB));
  expect(waiting.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThanOrEqual(576 * KIB);
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
  queue.push(1000, new Uint8Array(100 * KIB));
  expect(queue.parsingOffset).toBe(1000);
  waiting[0]?.parsed();
  expect(queue.parsingOffset).toBe(1000 + 64 * KIB);
  waiting[1]?.parsed();
  expect(queue.parsingOffset).toBeUndefined();
});

test("what is to follow on some bytes happens after them and before later ones", () => {
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
