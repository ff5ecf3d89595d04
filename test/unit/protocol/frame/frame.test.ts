import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import {
  decodeFrame,
  encodeFrame,
  FrameType,
  type Magic,
  withMagic,
} from "../../../../src/protocol/frame/frame.ts";
import { encodeSize, encodeSubscribe } from "../../../../src/protocol/frame/payload.ts";
import { hex, toHex, utf8 } from "../hex.ts";

const EMPTY = new Uint8Array();
const BAD_FRAME = expect.objectContaining({ code: "bad_frame" });
const MAGICS: readonly Magic[] = ["VT", "TV"];

/** Frames of old clients and servers (facts 1.12). */
const VECTORS = [
  {
    name: "an empty PING",
    type: FrameType.PING,
    sessionId: "",
    payload: EMPTY,
    bytes: "54 56 03 28 00 00 00 00 00 00 00 00",
  },
  {
    name: "WELCOME",
    type: FrameType.WELCOME,
    sessionId: "",
    payload: utf8('{"ok":true,"version":3}'),
    bytes: `54 56 03 02 00 00 00 00 17 00 00 00
      7B 22 6F 6B 22 3A 74 72 75 65 2C 22 76 65 72 73 69 6F 6E 22 3A 33 7D`,
  },
  {
    name: "SUBSCRIBE with flags 5",
    type: FrameType.SUBSCRIBE,
    sessionId: "s1",
    payload: encodeSubscribe({ flags: 5 }),
    bytes: "54 56 03 0A 02 00 00 00 73 31 0C 00 00 00 05 00 00 00 00 00 00 00 00 00 00 00",
  },
  {
    name: "RESIZE to 132 x 43",
    type: FrameType.RESIZE,
    sessionId: "s1",
    payload: encodeSize({ cols: 132, rows: 43 }),
    bytes: "54 56 03 20 02 00 00 00 73 31 08 00 00 00 84 00 00 00 2B 00 00 00",
  },
  {
    name: "INPUT_KEY arrow_up",
    type: FrameType.INPUT_KEY,
    sessionId: "s1",
    payload: utf8("arrow_up"),
    bytes: "54 56 03 1F 02 00 00 00 73 31 08 00 00 00 61 72 72 6F 77 5F 75 70",
  },
  {
    name: "STDOUT",
    type: FrameType.STDOUT,
    sessionId: "s1",
    payload: utf8("é\r\n"),
    bytes: "54 56 03 14 02 00 00 00 73 31 04 00 00 00 C3 A9 0D 0A",
  },
];

function inOrder(magic: Magic, vector: string): Uint8Array {
  const bytes = hex(vector);
  if (magic === "VT") bytes.set([0x56, 0x54]);
  return bytes;
}

const anyFrame = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  sessionId: fc
    .string({ unit: "grapheme", maxLength: 40 })
    .filter((id) => new TextEncoder().encode(id).length <= 256),
  payload: fc.uint8Array({ maxLength: 200 }),
  magic: fc.constantFrom(...MAGICS),
});

describe.each(MAGICS)("in the order %s", (magic) => {
  test.each(VECTORS)("$name is encoded to the bytes of the vector", ({ type, sessionId, payload, bytes }) => {
    expect(toHex(encodeFrame(type, sessionId, payload, magic))).toBe(toHex(inOrder(magic, bytes)));
  });

  test.each(VECTORS)(
    "$name is decoded from the bytes of the vector",
    ({ type, sessionId, payload, bytes }) => {
      expect(decodeFrame(inOrder(magic, bytes))).toEqual({ type, sessionId, payload, magic });
    },
  );
});

test("VT is the order where none is asked for", () => {
  expect(toHex(encodeFrame(FrameType.PONG, "", EMPTY))).toBe("56 54 03 29 00 00 00 00 00 00 00 00");
});

test.each([
  ["an empty message", "", "short frame: 0 bytes, at least 12 are needed"],
  ["11 bytes", "56 54 03 28 00 00 00 00 00 00 00", "short frame: 11 bytes, at least 12 are needed"],
  ["another magic", "56 56 03 28 00 00 00 00 00 00 00 00", "wrong magic: a frame begins with 56 54 or 54 56"],
  ["version 2", "56 54 02 28 00 00 00 00 00 00 00 00", "wrong version: 2, not 3"],
  [
    "a session id that ends after the message",
    "56 54 03 28 01 00 00 00 00 00 00 00",
    "session id length past the end of the message",
  ],
  [
    "a payload that ends after the message",
    "56 54 03 28 00 00 00 00 01 00 00 00",
    "payload length past the end of the message",
  ],
  [
    "a payload length of 2^32 - 1",
    "56 54 03 28 00 00 00 00 FF FF FF FF 00",
    "payload length past the end of the message",
  ],
  [
    "a session id length of 257",
    "56 54 03 28 01 01 00 00 00 00 00 00",
    "session id too long: at most 256 bytes",
  ],
  [
    "a session id length of 2^32 - 1",
    "56 54 03 28 FF FF FF FF 00 00 00 00",
    "session id too long: at most 256 bytes",
  ],
  ["a session id that is no UTF-8", "56 54 03 28 02 00 00 00 C3 28 00 00 00 00", "session id is not UTF-8"],
])("%s is refused with a reason", (_, bytes, message) => {
  const decode = () => decodeFrame(hex(bytes));
  expect(decode).toThrow(new ServiceError("bad_frame", message));
});

test("a session id of 256 bytes passes both ways, one of 257 neither", () => {
  const longest = "é".repeat(128);
  expect(decodeFrame(encodeFrame(FrameType.PING, longest, EMPTY)).sessionId).toBe(longest);
  expect(() => encodeFrame(FrameType.PING, `${longest}x`, EMPTY)).toThrow(BAD_FRAME);
  expect(() => encodeFrame(FrameType.PING, "x".repeat(1_000_000), EMPTY)).toThrow(BAD_FRAME);
});

test("characters at the edges of 1 to 4 bytes are counted right", () => {
  for (const id of ["\u007f", "\u0080", "\u07ff", "\u0800", "\uffff", "\u{10000}", "\u{10ffff}"]) {
    expect(decodeFrame(encodeFrame(FrameType.PING, id, utf8("x"))), id).toMatchObject({
      sessionId: id,
      payload: utf8("x"),
    });
  }
  expect(decodeFrame(encodeFrame(FrameType.PING, "a\ud800b", EMPTY)).sessionId).toBe("a\ufffdb");
});

test("a byte order mark in a session id stays", () => {
  expect(decodeFrame(encodeFrame(FrameType.PING, "\ufeffs1", EMPTY)).sessionId).toBe("\ufeffs1");
});

test("a refused session id does not spoil the next frame", () => {
  const broken = hex("56 54 03 28 01 00 00 00 C3 00 00 00 00");
  expect(() => decodeFrame(broken)).toThrow(BAD_FRAME);
  expect(decodeFrame(encodeFrame(FrameType.PING, "é", EMPTY)).sessionId).toBe("é");
});

test("bytes after the payload are ignored", () => {
  const frame = encodeFrame(FrameType.STDOUT, "s1", utf8("ab"));
  expect(decodeFrame(Uint8Array.from([...frame, 1, 2, 3])).payload).toEqual(utf8("ab"));
});

test("the decoded payload is a view, the encoded one a copy", () => {
  const payload = utf8("ab");
  const frame = encodeFrame(FrameType.STDOUT, "s1", payload);
  payload[0] = 0;
  const decoded = decodeFrame(frame).payload;
  expect(decoded).toEqual(utf8("ab"));
  expect(decoded.buffer).toBe(frame.buffer);
});

test("a frame that stands inside a larger buffer is read in its place", () => {
  const frame = encodeFrame(FrameType.STDOUT, "s1", utf8("ab"));
  const buffer = new Uint8Array(frame.length + 20).fill(0xff);
  buffer.set(frame, 7);
  expect(decodeFrame(buffer.subarray(7, 7 + frame.length))).toEqual(decodeFrame(frame));
});

test("withMagic copies a frame into the other order", () => {
  const frame = encodeFrame(FrameType.STDOUT, "s1", utf8("ab"));
  const other = withMagic(frame, "TV");
  expect(decodeFrame(other)).toEqual({ ...decodeFrame(frame), magic: "TV" });
  expect(withMagic(other, "VT")).toEqual(frame);
  expect(decodeFrame(frame).magic).toBe("VT");
});

test("every prefix of a frame is refused, the whole is not", () => {
  const frame = encodeFrame(FrameType.SUBSCRIBE, "séance", encodeSubscribe({ flags: 9, from: 2 ** 40 }));
  for (let length = 0; length < frame.length; length++) {
    expect(() => decodeFrame(frame.subarray(0, length)), `${length} bytes`).toThrow(BAD_FRAME);
  }
  expect(decodeFrame(frame).sessionId).toBe("séance");
});

test("whatever is encoded is decoded to the same", () => {
  fc.assert(
    fc.property(anyFrame, (frame) => {
      const { type, sessionId, payload, magic } = frame;
      expect(decodeFrame(encodeFrame(type, sessionId, payload, magic))).toEqual(frame);
    }),
    { numRuns: 2_000 },
  );
});
