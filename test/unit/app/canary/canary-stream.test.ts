import { describe, expect, test } from "vitest";
import { CANARY_COMMAND, checkCanary, LINE_BYTES } from "../../../../src/app/canary/canary-stream.ts";
import { CreateSession } from "../../../../src/protocol/schemas/session.ts";

/** Lines as the program prints them, each with its letter. */
function lines(keys: string): Uint8Array {
  const all = [...keys].map((key, number) => `canary ${String(number).padStart(16, "0")} ${key}\n`);
  return new TextEncoder().encode(all.join(""));
}

const STREAM = lines("-abc-d-----");

describe("the check of a canary", () => {
  test("finds no error in the program's output, however it is split", () => {
    for (let at = 0; at < STREAM.length; at++) {
      const [head, tail] = [checkCanary(0, STREAM.subarray(0, at)), checkCanary(at, STREAM.subarray(at))];
      expect(head.wrongBytes + tail.wrongBytes).toBe(0);
      expect((head.keys + tail.keys).replaceAll("-", "")).toBe("abcd");
    }
  });

  test("finds every lost, doubled and changed byte", () => {
    for (let at = 0; at < STREAM.length - LINE_BYTES; at++) {
      const [before, after] = [STREAM.subarray(0, at), STREAM.subarray(at + 1)];
      const lost = Buffer.concat([before, after]);
      const doubled = Buffer.concat([before, STREAM.subarray(at, at + 1), STREAM.subarray(at)]);
      const changed = Buffer.concat([before, Uint8Array.of(0xff), after]);
      for (const wrong of [lost, doubled, changed])
        expect(checkCanary(0, wrong).wrongBytes).toBeGreaterThan(0);
    }
  });

  test("finds a whole line that is lost or doubled", () => {
    const [first, rest] = [STREAM.subarray(0, LINE_BYTES), STREAM.subarray(LINE_BYTES)];
    expect(checkCanary(0, rest).wrongBytes).toBeGreaterThan(0);
    expect(checkCanary(0, Buffer.concat([first, first, rest])).wrongBytes).toBeGreaterThan(0);
  });
});

test("a session runs the program of a canary", () => {
  expect(CreateSession.safeParse({ command: [...CANARY_COMMAND] }).success).toBe(true);
});
