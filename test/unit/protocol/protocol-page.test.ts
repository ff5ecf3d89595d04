// Checks the test vectors, the table of types and the example code of docs/protocol.md, which authors of clients use.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  decodeFrame,
  decodeOutput,
  encodeFrame,
  encodeOutputFrame,
  FrameType,
} from "../../../src/protocol/frame/frame.ts";
import {
  decodeGoAway,
  decodeSize,
  decodeSubscribe,
  decodeSubscribed,
  encodeJson,
  encodeSize,
  encodeSubscribe,
} from "../../../src/protocol/frame/payload.ts";
import { decodeResync, encodeResync } from "../../../src/protocol/frame/resync.ts";
import { encodeSnapshot } from "../../../src/protocol/frame/snapshot.ts";
import { KEY_NAMES } from "../../../src/protocol/keys.ts";
import { hex, toHex, utf8 } from "./hex.ts";

const page = readFileSync(new URL("../../../docs/protocol.md", import.meta.url), "utf8");

/** Bytes by heading, of each ```hex block. */
function readVectors(): ReadonlyMap<string, Uint8Array> {
  const blocks = page.matchAll(/^### (.+)\n(?:(?!^###)[\s\S])*?```hex\n([\s\S]*?)```/gm);
  return new Map(Array.from(blocks, ([, name = "", text = ""]) => [name, hex(text.replace(/;.*$/gm, ""))]));
}

const vectors = readVectors();
const OFFSET = 2 ** 32 + 7;
const size = { cols: 80, rows: 24 };
const subscribed = { flags: 13, offset: OFFSET, ...size, status: "running" as const };
const resync = { offset: OFFSET + 5, size, bytes: utf8("hé\r\n") };
const snapshot = {
  cols: 6,
  viewportY: 2,
  cursorX: 1,
  cursorY: 2,
  rows: [
    [
      { text: "O", fg: 1, attributes: 1 },
      { text: "k", attributes: 0 },
      { text: " ", attributes: 0 },
      { text: "語", bg: { r: 16, g: 32, b: 48 }, attributes: 0 },
    ],
    [],
    [{ text: "$", attributes: 16 }],
  ],
};

const FRAMES: Readonly<Record<string, Uint8Array>> = {
  HELLO: encodeFrame(FrameType.HELLO, "", encodeJson({ client: "demo", version: "1.0" })),
  SUBSCRIBE: encodeFrame(FrameType.SUBSCRIBE, "s1", encodeSubscribe({ flags: 13 })),
  "SUBSCRIBE with fromOffset": encodeFrame(
    FrameType.SUBSCRIBE,
    "s1",
    encodeSubscribe({ flags: 13, from: OFFSET }),
  ),
  "SUBSCRIBE live": encodeFrame(FrameType.SUBSCRIBE, "s1", encodeSubscribe({ flags: 13, from: "live" })),
  SUBSCRIBED: encodeFrame(FrameType.SUBSCRIBED, "s1", encodeJson(subscribed)),
  OUTPUT: encodeOutputFrame("s1", OFFSET, utf8("hé\r\n")),
  RESYNC: encodeFrame(FrameType.RESYNC, "s1", encodeResync(resync)),
  GOAWAY: encodeFrame(FrameType.GOAWAY, "", encodeJson({ afterMs: 100, jitterMs: 40, reason: "restart" })),
  RESIZE: encodeFrame(FrameType.RESIZE, "s1", encodeSize({ cols: 132, rows: 43 })),
  ERROR: encodeFrame(
    FrameType.ERROR,
    "s2",
    encodeJson({ message: "no session s2", code: "session_not_found", frame: 7 }),
  ),
  "PING in the other order": encodeFrame(FrameType.PING, "", new Uint8Array(), "TV"),
  SNAPSHOT_VT: encodeFrame(FrameType.SNAPSHOT_VT, "s1", encodeSnapshot(snapshot)),
};

type Decoded = { readonly type: number; readonly sessionId: string; readonly payload: Uint8Array };

/** The exports of the page's code. */
type Example = {
  decode(message: ArrayBuffer): Decoded;
  subscribe(sessionId: string, fromOffset: number): Uint8Array;
  show(terminal: RecordedTerminal, frame: Decoded, next: number): number;
};

/** The calls of the example to its terminal. */
class RecordedTerminal {
  readonly steps: string[] = [];

  write(data: string | Uint8Array, done: () => void = () => undefined): void {
    this.steps.push(`write ${toHex(typeof data === "string" ? utf8(data) : data)}`);
    done();
  }

  resize(cols: number, rows: number): void {
    this.steps.push(`resize ${cols}x${rows}`);
  }
}

function vector(name: string): Uint8Array {
  return vectors.get(name) ?? new Uint8Array();
}

describe("test vectors", () => {
  test("the page has these and no others", () => {
    expect([...vectors.keys()]).toEqual(Object.keys(FRAMES));
  });

  test.each(Object.entries(FRAMES))("%s is the output of the codec", (name, frame) => {
    expect(toHex(vector(name))).toBe(toHex(frame));
  });

  test("the frames are decoded as the page explains them", () => {
    const payload = (name: string) => decodeFrame(vector(name)).payload;
    expect(decodeSubscribe(payload("SUBSCRIBE")).from).toBeUndefined();
    expect(decodeSubscribe(payload("SUBSCRIBE with fromOffset")).from).toBe(OFFSET);
    expect(decodeSubscribe(payload("SUBSCRIBE live"))).toMatchObject({ flags: 13, from: "live" });
    expect(decodeSubscribed(payload("SUBSCRIBED"))).toEqual(subscribed);
    expect(decodeOutput(payload("OUTPUT"))).toEqual({ offset: OFFSET, bytes: utf8("hé\r\n") });
    expect(decodeResync(payload("RESYNC"))).toEqual(resync);
    expect(decodeGoAway(payload("GOAWAY"))).toEqual({ afterMs: 100, jitterMs: 40, reason: "restart" });
    expect(decodeSize(payload("RESIZE"))).toEqual({ cols: 132, rows: 43 });
  });
});

test("the table of types is that of the codec", () => {
  const rows = page.matchAll(/^\| (\d+) \| ([A-Z_]+) \| to the (?:server|client) \|/gm);
  expect(Object.fromEntries(Array.from(rows, ([, type, name]) => [name, Number(type)]))).toEqual(FrameType);
});

test("every key is named", () => {
  const keys = page.slice(page.indexOf("\nKeys: "), page.indexOf("Arrows are always"));
  for (const name of KEY_NAMES.filter((key) => !/^f\d+$/.test(key))) expect(keys).toContain(`\`${name}\``);
  expect(keys).toContain("`f1` to `f12`");
});

describe("the example in JavaScript", () => {
  const source = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const example: Promise<Example> = import(
    /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(source)}`
  );

  /** A frame as a browser hands it over: a buffer that holds nothing else. */
  const received = (frame: Uint8Array) => frame.slice().buffer;

  test("subscribes as the codec does", async () => {
    const { subscribe } = await example;
    expect(toHex(subscribe("s1", OFFSET))).toBe(toHex(vector("SUBSCRIBE with fromOffset")));
  });

  test("reads the vectors", async () => {
    const { decode } = await example;
    for (const [name, frame] of vectors) {
      const { type, sessionId, payload } = decodeFrame(frame);
      if (name.startsWith("PING")) continue;
      expect(decode(received(frame)), name).toEqual({ type, sessionId, payload });
    }
  });

  test("shows each byte once and knows which comes next", async () => {
    const { decode, show } = await example;
    const terminal = new RecordedTerminal();
    const output = decode(received(vector("OUTPUT")));
    expect(show(terminal, output, OFFSET)).toBe(OFFSET + 5);
    expect(show(terminal, output, OFFSET + 3)).toBe(OFFSET + 5);
    expect(show(terminal, output, OFFSET + 99)).toBe(OFFSET + 99);
    expect(terminal.steps).toEqual(["write 68 C3 A9 0D 0A", "write 0D 0A", "write "]);
  });

  test("draws a RESYNC on a terminal that was reset to its size", async () => {
    const { decode, show } = await example;
    const terminal = new RecordedTerminal();
    expect(show(terminal, decode(received(vector("RESYNC"))), 7)).toBe(OFFSET + 5);
    expect(terminal.steps).toEqual(["write 1B 63", "resize 80x24", "write 68 C3 A9 0D 0A"]);
  });

  test("leaves other frames alone", async () => {
    const { decode, show } = await example;
    const terminal = new RecordedTerminal();
    expect(show(terminal, decode(received(vector("SUBSCRIBED"))), 7)).toBe(7);
    expect(terminal.steps).toEqual([]);
  });
});
