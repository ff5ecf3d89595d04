import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_DETACH_KEYS,
  DetachScanner,
  parseDetachKeys,
} from "../../../../src/cli/terminal/detach-keys.ts";

const scannerOf = (text: string): DetachScanner => new DetachScanner(parseDetachKeys(text));
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (input: Uint8Array): string => new TextDecoder().decode(input);

describe("the scanner", () => {
  test("passes input on until the detach keys are complete", () => {
    const scanner = scannerOf(DEFAULT_DETACH_KEYS);
    expect(text(scanner.scan(bytes("vim\r")).pass)).toBe("vim\r");
    const { pass, isDetached } = scanner.scan(bytes("ab\x1c\x1ccd"));
    expect(isDetached).toBe(true);
    expect(text(pass)).toBe("ab");
  });

  test("holds the first key back and sends it with the next other key", () => {
    const scanner = scannerOf("ctrl-p,ctrl-q");
    expect(scanner.scan(bytes("\x10"))).toEqual({ pass: Buffer.alloc(0), isDetached: false });
    expect(scanner.isHolding).toBe(true);
    expect(text(scanner.scan(bytes("x")).pass)).toBe("\x10x");
    expect(scanner.isHolding).toBe(false);
  });

  test("releases the first key when no key follows", () => {
    const scanner = scannerOf("ctrl-p,ctrl-q");
    scanner.scan(bytes("\x10"));
    expect(text(scanner.release())).toBe("\x10");
    expect(scanner.scan(bytes("\x11")).isDetached).toBe(false);
  });

  test("takes a repeated first key as a new beginning", () => {
    const scanner = scannerOf("ctrl-p,ctrl-q");
    expect(text(scanner.scan(bytes("\x10\x10")).pass)).toBe("\x10");
    expect(scanner.scan(bytes("\x11")).isDetached).toBe(true);
  });

  test("begins again inside the keys that it holds", () => {
    const scanner = scannerOf("ctrl-p,ctrl-p,ctrl-q");
    const pieces = ["\x10\x10", "\x10", "\x11"].map((typed) => scanner.scan(bytes(typed)));
    expect(pieces.map(({ pass }) => text(pass))).toEqual(["", "\x10", ""]);
    expect(pieces.at(-1)?.isDetached).toBe(true);
  });

  test.each([
    ...["\x1b[92;5u\x1b[92;5u", "\x1b[27;5;92~\x1b[27;5;92~", "\x1c\x1b[92;5u"],
    // With caps lock, with num lock, with both.
    ...["\x1b[92;69u\x1b[92;69u", "\x1b[92;133u\x1b[92;133u", "\x1b[92;197u\x1b[92;197u"],
  ])("knows the keys in the encodings that programs ask for: %j", (typed) => {
    expect(scannerOf(DEFAULT_DETACH_KEYS).scan(bytes(typed)).isDetached).toBe(true);
  });

  test("passes the same bytes however the input is split", () => {
    const typed = fc.array(fc.constantFrom(0x10, 0x11, 0x61, 0x1b, 0xc3), { maxLength: 30 });
    fc.assert(
      fc.property(typed, fc.array(fc.nat(30)), (input, cuts) => {
        const scanner = scannerOf("ctrl-p,ctrl-q");
        const passed: number[] = [];
        const whole = Uint8Array.from(input);
        const ends = [...cuts.filter((cut) => cut <= input.length).sort((a, b) => a - b), input.length];
        let start = 0;
        for (const end of ends) {
          const { pass, isDetached } = scanner.scan(whole.subarray(start, end));
          passed.push(...pass);
          if (isDetached) {
            const at = input.findIndex((byte, i) => byte === 0x10 && input[i + 1] === 0x11);
            expect(passed).toEqual(input.slice(0, at));
            return;
          }
          start = end;
        }
        passed.push(...scanner.release());
        expect(passed).toEqual(input);
      }),
    );
  });

  test("passes all input when there are no detach keys", () => {
    expect(text(scannerOf("none").scan(bytes("\x1c\x1c")).pass)).toBe("\x1c\x1c");
  });
});

test.each(["", "ctrl-", "ctrl-1", "ab", "a,,b", "a,b,c,d,e,f,g,h,i"])(
  "rejects the detach keys %j",
  (words) => {
    expect(() => parseDetachKeys(words)).toThrow(RangeError);
  },
);
