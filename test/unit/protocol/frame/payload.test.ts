import { describe, expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import {
  decodeFrame,
  decodeOutput,
  encodeFrame,
  encodeOutputFrame,
  FrameType,
  outputFrameHeaderBytes,
  writeOutputFrameHeader,
} from "../../../../src/protocol/frame/frame.ts";
import {
  decodeError,
  decodeGoAway,
  decodeHello,
  decodeJson,
  decodeSize,
  decodeSubscribe,
  decodeSubscribed,
  decodeText,
  encodeJson,
  encodeSize,
  encodeSubscribe,
  SubscribeFlag,
} from "../../../../src/protocol/frame/payload.ts";
import { decodeResync, encodeResync } from "../../../../src/protocol/frame/resync.ts";
import { MAX_ERROR_TEXT_LENGTH, MAX_EVENT_BYTES } from "../../../../src/protocol/limits.ts";
import { hex, toHex, utf8 } from "../hex.ts";

const LARGEST = Number.MAX_SAFE_INTEGER;
const OFFSETS = [0, 1, 255, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 3, LARGEST];
const BEYOND_LARGEST = "00 00 00 00 00 00 20 00";
const ALL_ONES = "FF FF FF FF FF FF FF FF";

const INVALID = expect.objectContaining({ code: "invalid_request" });

function expectRefused(decode: () => unknown, message: string): void {
  expect(decode).toThrow(new ServiceError("invalid_request", message));
}

describe("SUBSCRIBE", () => {
  const from = { flags: SubscribeFlag.Stdout | SubscribeFlag.Offsets };

  test("the three fields stand in the first 12 bytes", () => {
    const bytes = "0D 00 00 00 64 00 00 00 F4 01 00 00";
    expect(toHex(encodeSubscribe({ flags: 13, minIntervalMs: 100, maxIntervalMs: 500 }))).toBe(bytes);
    expect(decodeSubscribe(hex(bytes))).toEqual({
      flags: 13,
      minIntervalMs: 100,
      maxIntervalMs: 500,
      from: undefined,
    });
  });

  test.each(OFFSETS)("offset %i to begin with comes through", (offset) => {
    const payload = encodeSubscribe({ ...from, from: offset });
    expect(payload.length).toBe(20);
    expect(decodeSubscribe(payload).from).toBe(offset);
  });

  test("2^64 - 1 means live only", () => {
    const payload = encodeSubscribe({ ...from, from: "live" });
    expect(toHex(payload.subarray(12))).toBe(ALL_ONES);
    expect(decodeSubscribe(payload).from).toBe("live");
  });

  test("bytes after the first 12 are ignored without the flag Offsets", () => {
    expect(
      decodeSubscribe(hex(`05 00 00 00 00 00 00 00 00 00 00 00 ${BEYOND_LARGEST}`)).from,
    ).toBeUndefined();
    expectRefused(
      () => encodeSubscribe({ flags: 1, from: 0 }),
      "An offset to begin with needs the flag Offsets.",
    );
  });

  test("an offset that is not whole is ignored as other trailing bytes are", () => {
    const payload = encodeSubscribe({ ...from, from: 7 });
    for (let length = 12; length < 20; length++) {
      expect(decodeSubscribe(payload.subarray(0, length)).from).toBeUndefined();
    }
    expect(decodeSubscribe(Uint8Array.from([...payload, 1, 2])).from).toBe(7);
  });

  test("unknown flags are kept for the receiver to ignore", () => {
    expect(decodeSubscribe(hex("FF FF FF FF 00 00 00 00 00 00 00 00")).flags).toBe(0xffff_ffff);
  });

  test("under 12 bytes, and an offset over 2^53 - 1, are refused", () => {
    for (let length = 0; length < 12; length++) {
      expectRefused(
        () => decodeSubscribe(new Uint8Array(length)),
        `Invalid SUBSCRIBE payload: ${length} bytes, at least 12 are needed.`,
      );
    }
    expectRefused(
      () => decodeSubscribe(hex(`08 00 00 00 00 00 00 00 00 00 00 00 ${BEYOND_LARGEST}`)),
      "Invalid SUBSCRIBE payload: the offset is over 2^53 - 1.",
    );
  });

  test.each([-1, 0.5, 2 ** 32, Number.NaN])("an interval of %d ms has no encoding", (minIntervalMs) => {
    expect(() => encodeSubscribe({ flags: 2, minIntervalMs })).toThrow(INVALID);
  });
});

describe("OUTPUT", () => {
  test.each(OFFSETS)("offset %i comes through with its bytes", (offset) => {
    const frame = decodeFrame(encodeOutputFrame("s1", offset, utf8("hi")));
    expect(frame).toMatchObject({ type: FrameType.OUTPUT, sessionId: "s1", magic: "VT" });
    expect(decodeOutput(frame.payload)).toEqual({ offset, bytes: utf8("hi") });
  });

  test("a header written in front of output makes the same frame", () => {
    const start = outputFrameHeaderBytes("séance");
    const target = new Uint8Array(start + 100).fill(0xee);
    target.set(utf8("hi"), start);
    writeOutputFrameHeader(target, "séance", 2 ** 33, 2);
    expect(target.subarray(0, start + 2)).toEqual(encodeOutputFrame("séance", 2 ** 33, utf8("hi")));
    expect(target[start + 2]).toBe(0xee);
  });

  test("an OUTPUT frame can be encoded in the other byte order", () => {
    expect(decodeFrame(encodeOutputFrame("s1", 0, utf8("hi"), "TV")).magic).toBe("TV");
  });

  test("the decoded bytes are a view", () => {
    const frame = encodeOutputFrame("s1", 3, utf8("hi"));
    expect(decodeOutput(decodeFrame(frame).payload).bytes.buffer).toBe(frame.buffer);
  });

  test.each([-1, 0.5, LARGEST + 1, Number.NaN, Number.POSITIVE_INFINITY])("%d is no offset", (offset) => {
    expectRefused(
      () => encodeOutputFrame("s1", offset, utf8("hi")),
      `${offset} is not an offset: a whole number from 0 to 2^53 - 1.`,
    );
  });

  test("under 8 bytes, and an offset over 2^53 - 1, are refused", () => {
    expectRefused(
      () => decodeOutput(new Uint8Array(7)),
      "Invalid OUTPUT payload: 7 bytes, at least 8 are needed.",
    );
    for (const offset of [BEYOND_LARGEST, ALL_ONES]) {
      expectRefused(() => decodeOutput(hex(offset)), "Invalid OUTPUT payload: the offset is over 2^53 - 1.");
    }
  });
});

describe("RESYNC", () => {
  test("offset, size and bytes come through", () => {
    const resync = { offset: 2 ** 32 + 5, size: { cols: 132, rows: 43 }, bytes: utf8("\x1b[2J") };
    const payload = encodeResync(resync);
    expect(toHex(payload)).toBe("05 00 00 00 01 00 00 00 84 00 00 00 2B 00 00 00 1B 5B 32 4A");
    expect(decodeResync(payload)).toEqual(resync);
    expect(decodeResync(payload).bytes.buffer).toBe(payload.buffer);
  });

  test("a short payload, too large an offset and an invalid size are refused", () => {
    expectRefused(
      () => decodeResync(new Uint8Array(15)),
      "Invalid RESYNC payload: 15 bytes, at least 16 are needed.",
    );
    expectRefused(
      () => decodeResync(hex(`${BEYOND_LARGEST} 50 00 00 00 18 00 00 00`)),
      "Invalid RESYNC payload: the offset is over 2^53 - 1.",
    );
    expectRefused(
      () => decodeResync(hex("00 00 00 00 00 00 00 00 00 00 00 00 18 00 00 00")),
      "Invalid RESYNC payload: 0x24 is not a size, each must be 1 to 1000.",
    );
  });
});

describe("RESIZE", () => {
  test("both ends of the range come through", () => {
    for (const size of [
      { cols: 1, rows: 1000 },
      { cols: 1000, rows: 1 },
    ]) {
      expect(decodeSize(encodeSize(size))).toEqual(size);
    }
  });

  test.each([
    [0, 24],
    [80, 0],
    [1001, 24],
    [80, 0xffff_ffff],
  ])("%i x %i is refused", (cols, rows) => {
    const payload = new Uint8Array(8);
    new DataView(payload.buffer).setUint32(0, cols, true);
    new DataView(payload.buffer).setUint32(4, rows, true);
    const message = `Invalid RESIZE payload: ${cols}x${rows} is not a size, each must be 1 to 1000.`;
    expectRefused(() => decodeSize(payload), message);
    expectRefused(() => encodeSize({ cols, rows }), message);
  });

  test("under 8 bytes is refused, more is ignored", () => {
    expectRefused(
      () => decodeSize(new Uint8Array(7)),
      "Invalid RESIZE payload: 7 bytes, at least 8 are needed.",
    );
    expect(decodeSize(hex("50 00 00 00 18 00 00 00 FF"))).toEqual({ cols: 80, rows: 24 });
  });
});

describe("JSON and text", () => {
  test("a value comes through", () => {
    const value = { kind: "marker", label: 'é "\u2028' };
    expect(decodeJson(encodeJson(value))).toEqual(value);
  });

  test("invalid UTF-8 and invalid JSON are refused", () => {
    expectRefused(() => decodeJson(utf8("{")), "The payload is not JSON.");
    expectRefused(() => decodeJson(new Uint8Array()), "The payload is not JSON.");
    expectRefused(() => decodeJson(hex("22 FF 22")), "The payload is not UTF-8.");
    expectRefused(() => decodeText(hex("C3")), "The payload is not UTF-8.");
  });

  test("SUBSCRIBED has all of its members", () => {
    const subscribed = { flags: 9, offset: 2 ** 40, cols: 80, rows: 24, status: "running" as const };
    expect(decodeSubscribed(encodeJson(subscribed))).toEqual(subscribed);
    expect(() => decodeSubscribed(encodeJson({ ...subscribed, status: "idle" }))).toThrow(INVALID);
    expect(() => decodeSubscribed(encodeJson({ flags: 9 }))).toThrow(/Invalid SUBSCRIBED payload/);
    for (const size of [{ cols: 2 ** 31 }, { rows: 0 }])
      expect(() => decodeSubscribed(encodeJson({ ...subscribed, ...size }))).toThrow(INVALID);
  });

  test("the members of HELLO are bounded", () => {
    expect(decodeHello(encodeJson({ client: "demo", other: 1 }))).toEqual({ client: "demo" });
    expect(() => decodeHello(encodeJson({ client: "x".repeat(129) }))).toThrow(INVALID);
    expect(() => decodeHello(encodeJson([]))).toThrow(INVALID);
  });

  test("text is what INPUT_KEY and KILL carry", () => {
    const frame = decodeFrame(encodeFrame(FrameType.KILL, "s1", utf8("SIGINT")));
    expect(decodeText(frame.payload)).toBe("SIGINT");
  });
});

test("a payload that is longer than any of ours is not parsed", () => {
  const long = encodeJson({ message: "x".repeat(MAX_EVENT_BYTES) });
  const refusal = `The payload is too long: at most ${MAX_EVENT_BYTES} bytes are read.`;
  for (const decode of [decodeError, decodeGoAway, decodeHello, decodeSubscribed, decodeJson])
    expectRefused(() => decode(long), refusal);
  expect(decodeJson(long, long.length)).toBeDefined();
});

test.each(["session_not_found", "novel"])("the text of an error %s is cut", (code) => {
  const message = "x".repeat(1_000_000);
  const { error } = decodeError(encodeJson({ code, message }));
  expect(error.message).toHaveLength(MAX_ERROR_TEXT_LENGTH);
});
