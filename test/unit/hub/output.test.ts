import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { Hub } from "../../../src/hub/hub.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { exitEvent } from "../../../src/protocol/frame/event.ts";
import { encodeOutputFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import { MemoryClient, textOf } from "./memory-client.ts";
import { MemorySessions } from "./memory-sessions.ts";

const { Stdout, Events, Offsets } = SubscribeFlag;
const MIB = 1024 * 1024;

function setUp() {
  const sessions = new MemorySessions();
  // The clock stands still: a viewer has stalled only where a test says so.
  const hub = new Hub({ backend: sessions, now: () => 0 });
  return { sessions, hub, session: sessions.add("s"), client: () => new MemoryClient(hub) };
}

test("output begins at the requested byte, in the frames of the window or read from the journal", async () => {
  const { session, client } = setUp();
  const all = Array.from({ length: 30 }, (_, index) => `${index}: ${textOf(5_000)}\n`).join("");
  await using other = client();
  other.subscribe("s", { flags: Stdout | Offsets });
  await other.settled();
  for (let start = 0; start < all.length; start += 7_000) session.print(all.slice(start, start + 7_000));
  for (const from of [0, 1, 6_999, 7_000, 7_001, 100_000, all.length - 1, all.length]) {
    await using viewer = client();
    viewer.subscribe("s", { flags: Stdout | Offsets, from });
    await viewer.settled();
    session.print("");
    await viewer.reads(() => viewer.output.map(([, text]) => text).join("").length === all.length - from);
    expect(viewer.output.map(([, text]) => text).join("")).toBe(all.slice(from));
    expect(viewer.json(FrameType.SUBSCRIBED)).toEqual([
      { flags: 9, offset: from, cols: 80, rows: 24, status: "running" },
    ]);
  }
});

test("a requested byte that this process does not have yet is awaited, one beyond the output means its end", async () => {
  const { sessions, session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  session.print("abc");
  await viewer.settled();
  const { sink } = session;
  session.sink = undefined;
  session.print("def");
  session.sink = sink;
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 5 });
  await viewer.settled();
  const late = sessions.sessions.get("s")?.journal.at(-1);
  if (late === undefined || !("bytes" in late)) throw new Error("nothing was printed");
  sink?.({ kind: "output", ...late, frame: encodeOutputFrame("s", late.offset, late.bytes) });
  await viewer.settled();
  expect(viewer.output).toEqual([
    [0, "abc"],
    [5, "f"],
  ]);
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 1_000 });
  await viewer.settled();
  session.print("!");
  await viewer.settled();
  expect(viewer.json(FrameType.SUBSCRIBED).at(-1)).toMatchObject({ offset: 6 });
  expect(viewer.output.at(-1)).toEqual([6, "!"]);
});

test("a client that comes back with more output than a session has gets its screen: another one has the id now", async () => {
  const { session, client } = setUp();
  session.print("abc");
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 1_000 });
  await viewer.settled();
  session.print("def");
  await viewer.reads(() => viewer.output.length > 0);
  expect(viewer.json(FrameType.SUBSCRIBED)).toMatchObject([{ offset: 3 }]);
  expect(viewer.of(FrameType.RESYNC).map(({ payload }) => decodeResync(payload).offset)).toEqual([3]);
  expect(viewer.output).toEqual([[3, "def"]]);
});

test("viewers miss no output that is still held although the upstream skipped it", async () => {
  const { session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Events | Offsets });
  session.print("one ");
  await viewer.settled();
  session.skip("two ");
  session.print("three");
  await viewer.reads(() => viewer.output.length === 3);
  expect(viewer.output).toEqual([
    [0, "one "],
    [4, "two "],
    [8, "three"],
  ]);
  expect(viewer.of(FrameType.RESYNC)).toEqual([]);
});

test("output that the upstream skipped and that is not held any more gives one RESYNC", async () => {
  const { session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  session.print("one ");
  await viewer.settled();
  session.held = 8;
  session.skip("two ");
  session.print("three");
  await viewer.reads(() => viewer.of(FrameType.RESYNC).length > 0);
  session.print(" four");
  await viewer.reads(() => viewer.output.at(-1)?.[1] === " four");
  expect(viewer.of(FrameType.RESYNC).map(({ payload }) => decodeResync(payload).offset)).toEqual([13]);
});

test("history that is not held any more is replaced by RESYNC at the offset where output continues", async () => {
  const { session, client } = setUp();
  session.print("gone ");
  session.held = 5;
  session.print("held");
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 2 });
  await viewer.reads(() => viewer.of(FrameType.RESYNC).length > 0);
  session.print(" live");
  await viewer.reads(() => viewer.output.length === 1);
  expect(viewer.output).toEqual([[9, " live"]]);
  expect(viewer.of(FrameType.ERROR)).toEqual([]);
});

test("a client without offsets whose history is not held gets a reset and the screen", async () => {
  const { session, client } = setUp();
  session.print("gone ");
  session.held = 5;
  session.print("held");
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout });
  await viewer.reads(() => viewer.stdout !== "");
  expect(viewer.stdout).toBe("\x1bcscreen at 9.");
  expect(viewer.of(FrameType.ERROR)).toEqual([]);
});

test("history that cannot be read for a while is reported once and sent when it can be read", async () => {
  const { sessions, session, client } = setUp();
  session.print("past");
  sessions.viewFailures.push(new ServiceError("host_unreachable", "no answer"), new Error("aborted"));
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 0 });
  await viewer.reads(() => viewer.output.length > 0);
  expect(viewer.output).toEqual([[0, "past"]]);
  expect(viewer.json(FrameType.ERROR)).toEqual([
    { message: "no answer", code: "host_unreachable", frame: 0 },
  ]);
});

test("no character is split over two STDOUT frames, and an incomplete one is sent at the end", async () => {
  const { session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout });
  await viewer.settled();
  const text = "aé€😀z";
  for (const byte of new TextEncoder().encode(text)) session.print(new Uint8Array([byte]));
  await viewer.settled();
  expect(viewer.stdout).toBe(text);
  session.print(new Uint8Array([0xf0, 0x9f]));
  session.exit(0);
  await viewer.settled();
  expect(viewer.of(FrameType.STDOUT).at(-1)?.payload).toEqual(new Uint8Array([0xf0, 0x9f]));
  expect(viewer.frames.at(-2)?.type).toBe(FrameType.EVENT);
});

test("a viewer that falls out of the window while it reads nothing gets RESYNC when it reads again", async () => {
  let time = 0;
  const sessions = new MemorySessions();
  const session = sessions.add("s");
  const hub = new Hub({ backend: sessions, now: () => time });
  await using viewer = new MemoryClient(hub);
  await using steady = new MemoryClient(hub);
  viewer.subscribe("s", { flags: Stdout | Offsets });
  steady.subscribe("s", { flags: Stdout | Offsets });
  await viewer.settled();
  for (let i = 0; i < 64; i++) {
    session.print(textOf(256 * 1024));
    await steady.settled();
  }
  expect(viewer.peer.unreadBytes).toBeLessThan(MIB);
  time += 1_000;
  await viewer.reads(() => viewer.of(FrameType.RESYNC).length > 0);
  session.print("live");
  await viewer.reads(() => viewer.output.at(-1)?.[1] === "live");
  expect(steady.output.length).toBe(64);
  expect(viewer.of(FrameType.RESYNC).map(({ payload }) => decodeResync(payload).offset)).toEqual([16 * MIB]);
});

test("a viewer that falls out of the window while it keeps reading loses nothing", async () => {
  const { session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  await viewer.settled();
  for (let i = 0; i < 64; i++) {
    session.print(textOf(256 * 1024));
    if (i % 8 === 0) viewer.read();
  }
  await viewer.reads(() => viewer.output.reduce((sum, [, text]) => sum + text.length, 0) === 16 * MIB);
  let next = 0;
  for (const [offset, text] of viewer.output) {
    expect(offset).toBe(next);
    next += text.length;
  }
});

test("an undecodable screen is read again, and reported once as an internal error", async () => {
  const { sessions, session, client } = setUp();
  await using viewer = client();
  const view = sessions.view.bind(sessions);
  let screens = 0;
  sessions.view = async (id, what) => {
    if (what.kind !== "resync" || ++screens > 2) return view(id, what);
    return { type: "application/octet-stream", body: Readable.from([new Uint8Array(3)]) };
  };
  session.print("gone");
  session.held = 4;
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 0 });
  await viewer.reads(() => viewer.of(FrameType.RESYNC).length > 0);
  expect(viewer.json(FrameType.ERROR)).toEqual([
    { message: "internal error", code: "internal_error", frame: 0 },
  ]);
  session.print("live");
  await viewer.reads(() => viewer.output.at(-1)?.[1] === "live");
});

test("output that was lost with its host gives one RESYNC, then the output of the window follows", async () => {
  const { sessions, session, client } = setUp();
  session.print("stored");
  session.print("lost with its host");
  await using one = client();
  one.subscribe("s", { flags: Stdout | Offsets, from: "live" });
  await one.settled();
  session.print("in the window");
  // The next host finds these bytes alone.
  session.journal.splice(2);
  const view = sessions.view.bind(sessions);
  sessions.view = (id, what) =>
    sessions.views.length > 50 ? Promise.reject(new Error("again and again")) : view(id, what);
  session.sink?.({ kind: "event", offset: 37, event: exitEvent("s", 129, undefined) });
  await using other = client();
  other.subscribe("s", { flags: Stdout | Offsets, from: 0 });
  await other.reads(() => other.of(FrameType.EVENT).length + other.of(FrameType.ERROR).length > 0);
  expect(other.of(FrameType.RESYNC).map(({ payload }) => decodeResync(payload).offset)).toEqual([24]);
  expect(other.output).toEqual([
    [0, "stored"],
    [24, "in the window"],
  ]);
  expect(other.json(FrameType.EVENT)).toMatchObject([{ kind: "exit", exitCode: 129 }]);
});
