import * as fc from "fast-check";
import { expect, test } from "vitest";
import { concatBytes } from "../../../src/lib/data/collect.ts";
import { WholeCharacters } from "../../../src/protocol/whole-characters.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

test("bytes that end with a whole character are passed on as they are", () => {
  const characters = new WholeCharacters();
  for (const text of ["plain", "\u00e9", "\u65e5", "\u{1F600}", ""]) {
    const bytes = encode(text);
    expect(characters.take(bytes)).toBe(bytes);
  }
});

test("a split character is passed on with its rest", () => {
  const bytes = encode("a\u{1F600}b");
  for (let cut = 1; cut < bytes.length; cut++) {
    const characters = new WholeCharacters();
    const first = characters.take(bytes.subarray(0, cut));
    const second = characters.take(bytes.subarray(cut));
    expect(new TextDecoder("utf-8", { fatal: true }).decode(first)).toBe(cut < 5 ? "a" : "a\u{1F600}");
    expect(new TextDecoder("utf-8", { fatal: true }).decode(concatBytes([first, second]))).toBe(
      "a\u{1F600}b",
    );
  }
});

test("an incomplete character is returned at the end", () => {
  const characters = new WholeCharacters();
  expect(characters.take(Uint8Array.of(65, 0xe6, 0x97))).toEqual(Uint8Array.of(65));
  expect(characters.rest()).toEqual(Uint8Array.of(0xe6, 0x97));
  expect(characters.rest()).toEqual(new Uint8Array(0));
});

test("no byte is lost or moved, and no character is split, however the text is cut", () => {
  const source = fc.oneof(fc.string({ unit: "grapheme" }).map(encode), fc.uint8Array({ maxLength: 60 }));
  return fc.assert(
    fc.property(source, fc.array(fc.nat(60), { maxLength: 12 }), (bytes, cuts) => {
      const characters = new WholeCharacters();
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort(
        (a, b) => a - b,
      );
      // The caller reuses its buffer, so held bytes must be a copy.
      const taken = places
        .slice(1)
        .map((end, index) => characters.take(bytes.slice(places[index], end)).slice());
      const decoded = taken
        .map((part) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(part))
        .join("");
      const rest = characters.rest();
      expect(Buffer.compare(concatBytes([...taken, rest]), bytes)).toBe(0);
      const end = new TextDecoder("utf-8", { ignoreBOM: true }).decode(rest);
      const whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      if (!whole.includes("\u{FFFD}")) expect(decoded + end).toBe(whole);
      expect(rest.length).toBeLessThanOrEqual(3);
    }),
    { numRuns: 500 },
  );
});
