// Locks the wire format to PROTOCOL_REVISION, which processes of different versions compare.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { exitEvent, resizeEvent } from "../../../src/protocol/frame/event.ts";
import {
  encodeFrame,
  encodeOutputFrame,
  FRAME_VERSION,
  FrameType,
  PROTOCOL_REVISION,
} from "../../../src/protocol/frame/frame.ts";
import {
  encodeSize,
  encodeSubscribe,
  GoAway,
  Hello,
  Subscribed,
  SubscribeFlag,
} from "../../../src/protocol/frame/payload.ts";
import { encodeResync } from "../../../src/protocol/frame/resync.ts";
import { encodeSnapshot, SNAPSHOT_VERSION } from "../../../src/protocol/frame/snapshot.ts";
import { CellAttribute } from "../../../src/protocol/frame/snapshot-cell.ts";
import { KEY_NAMES, keyBytes } from "../../../src/protocol/keys.ts";
import { MAX_FRAME_SESSION_ID_BYTES } from "../../../src/protocol/limits.ts";
import { toHex, utf8 } from "./hex.ts";

/** SHA-256 of WIRE for each revision. Add a line for a new revision; never change one. */
const LOCKED: Readonly<Record<number, string>> = {
  1: "c780697e42be2cceb285690a16f62a6ae9e8a9e6e8e0a60344436d7f536aeacc",
  2: "481b152f9862bbccff7ccd35da625422f67fd2a37344d480de85e980302e21dd",
};

/** A distinct byte at every place of a number, so that no order or width can change unseen. */
const OFFSET = 0x01_0203_0405_0607;
const SIZE = { cols: 0x0102, rows: 0x0304 };

const LAYOUTS = {
  frame: encodeFrame(FrameType.STDOUT, "séance", utf8("bytes")),
  frameInOtherOrder: encodeFrame(FrameType.STDOUT, "séance", utf8("bytes"), "TV"),
  output: encodeOutputFrame("séance", OFFSET, utf8("bytes")),
  resync: encodeResync({ offset: OFFSET, size: SIZE, bytes: utf8("bytes") }),
  resize: encodeSize(SIZE),
  subscribe: encodeSubscribe({ flags: 0x01020304, minIntervalMs: 0x05060708, maxIntervalMs: 0x090a0b0c }),
  subscribeFrom: encodeSubscribe({ flags: SubscribeFlag.Offsets, from: OFFSET }),
  subscribeLive: encodeSubscribe({ flags: SubscribeFlag.Offsets, from: "live" }),
  snapshot: encodeSnapshot({
    cols: 80,
    viewportY: 0x01020304,
    cursorX: 0x05060708,
    cursorY: 0x090a0b0c,
    rows: [
      [],
      [
        { text: "a", fg: 1, bg: { r: 2, g: 3, b: 4 }, attributes: 5 },
        { text: " ", attributes: 0 },
        { text: "é", fg: { r: 0, g: 0, b: 6 }, bg: 7, attributes: 0 },
      ],
    ],
  }),
};

const WIRE = {
  version: FRAME_VERSION,
  types: FrameType,
  flags: SubscribeFlag,
  limits: { MAX_FRAME_SESSION_ID_BYTES },
  keys: KEY_NAMES.map((name) => [name, toHex(keyBytes(name) ?? utf8("none"))]),
  snapshot: { version: SNAPSHOT_VERSION, attributes: CellAttribute },
  layouts: Object.entries(LAYOUTS).map(([name, bytes]) => [name, toHex(bytes)]),
  json: {
    goAway: Object.keys(GoAway.shape),
    hello: Object.keys(Hello.shape),
    subscribed: Object.keys(Subscribed.shape),
    exit: exitEvent("s1", 137, "SIGKILL"),
    resize: resizeEvent(SIZE),
  },
};

test("types, flags and layouts are those of the protocol revision", () => {
  const hash = createHash("sha256").update(JSON.stringify(WIRE)).digest("hex");
  const next = LOCKED[PROTOCOL_REVISION] === undefined ? PROTOCOL_REVISION : PROTOCOL_REVISION + 1;
  const instruction = `The wire is not that of revision ${PROTOCOL_REVISION}. If that is meant, set PROTOCOL_REVISION in
src/protocol/frame/frame.ts to ${next}, add the line ${next}: "${hash}" to LOCKED in this file, and bring docs/protocol.md up to date.`;
  expect(hash, instruction).toBe(LOCKED[PROTOCOL_REVISION]);
});

test("each revision has a hash of its own", () => {
  expect(new Set(Object.values(LOCKED)).size).toBe(PROTOCOL_REVISION);
  expect(Object.keys(LOCKED)).toEqual(Array.from({ length: PROTOCOL_REVISION }, (_, i) => String(i + 1)));
});
