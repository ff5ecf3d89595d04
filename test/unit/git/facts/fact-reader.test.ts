import { expect, test } from "vitest";
import { FactReader } from "../../../../src/git/facts/fact-reader.ts";

function readerOf(isLive: boolean) {
  const clock = { ms: 1_000_000 };
  let told = 0;
  const reader = new FactReader({ isLive, now: () => clock.ms, onChange: () => void told++ });
  return { reader, clock, told: () => told };
}

test("who is there is told; who has ended is told of its end, and then no more", () => {
  const { reader, clock, told } = readerOf(true);
  clock.ms += 3_600_000;
  reader.tell();
  expect(told()).toBe(1);
  reader.end();
  clock.ms += 29_999;
  reader.end();
  reader.tell();
  expect(told()).toBe(2);
  clock.ms += 1;
  reader.tell();
  expect(told()).toBe(2);
});

test("who had ended before is never told", () => {
  const { reader, told } = readerOf(false);
  reader.end();
  reader.tell();
  expect([told(), reader.isLive]).toEqual([0, false]);
});
