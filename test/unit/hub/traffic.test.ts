import { expect, test } from "vitest";
import { Hub } from "../../../src/hub/hub.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { FEED_WINDOW_BYTES } from "../../../src/protocol/limits.ts";
import { observationsOf } from "../observations.ts";
import { MemoryClient } from "./memory-client.ts";
import { MemorySessions } from "./memory-sessions.ts";

const { Stdout, Events, Offsets } = SubscribeFlag;
const MIB = 1024 * 1024;

function setUp(pingIntervalMs = 25_000) {
  const clock = { time: 0 };
  const sessions = new MemorySessions();
  const hub = new Hub({ backend: sessions, now: () => clock.time, pingIntervalMs });
  return { clock, sessions, hub, session: sessions.add("s"), client: () => new MemoryClient(hub) };
}

test("frames and their bytes are counted in both directions, and so are bad frames", async () => {
  const { hub, client } = setUp();
  await using viewer = client();
  const before = { ...hub.traffic };
  expect([before.framesOut, before.bytesOut]).toEqual([2, viewer.peer.unreadBytes]);
  viewer.send(FrameType.PING, "", new Uint8Array(8));
  viewer.receive(new Uint8Array(3));
  expect(hub.traffic).toMatchObject({ framesIn: 2, badFrames: 1, framesOut: 4 });
  expect(hub.traffic.bytesIn).toBe(12 + 8 + 3);
  expect(hub.traffic.bytesOut).toBe(viewer.peer.unreadBytes);
});

test("sixteen bad frames disconnect their client", async () => {
  const { hub, client } = setUp();
  await using viewer = client();
  for (let count = 0; count < 20; count++) viewer.receive(new Uint8Array(3));
  expect(viewer.peer.closed).toBe(1002);
  expect(hub.traffic.droppedBad).toBe(1);
});

test("viewers and watched sessions are current numbers", async () => {
  const { hub, sessions, client } = setUp();
  sessions.add("t");
  await using one = client();
  await using other = client();
  for (const id of ["s", "t"]) one.subscribe(id, { flags: Stdout });
  other.subscribe("s", { flags: Events });
  await one.settled();
  await other.settled();
  expect([hub.viewers, hub.watchedSessions]).toEqual([3, 2]);
  one.send(FrameType.UNSUBSCRIBE, "t");
  await one.settled();
  expect([hub.viewers, hub.watchedSessions]).toEqual([2, 1]);
});

test("a viewer lags by the output that it has not taken, and not at all if it requested none", async () => {
  const { session, client } = setUp();
  await using reader = client();
  await using slow = client();
  await using deaf = client();
  for (const viewer of [reader, slow]) viewer.subscribe("s", { flags: Stdout | Offsets });
  deaf.subscribe("s", { flags: Events });
  for (const viewer of [reader, slow, deaf]) await viewer.settled();
  for (let count = 0; count < 32; count++) session.print(new Uint8Array(64 * 1024));
  await reader.reads(() => reader.output.length === 32);
  expect([reader.viewer.lagBytes, deaf.viewer.lagBytes]).toEqual([0, 0]);
  expect(slow.viewer.lagBytes).toBeGreaterThanOrEqual(2 * MIB);
  expect(slow.viewer.lagBytes).toBeLessThan(2 * MIB + 64 * 1024);
  await slow.reads(() => slow.output.length === 32);
  expect(slow.viewer.lagBytes).toBe(0);
});

test("the lag of clients is measured at every ping", async () => {
  const { hub, client } = setUp(5);
  await using _one = client();
  await using _other = client();
  let count = 0;
  while (count < 4) {
    await new Promise(setImmediate);
    ({ count } = await observationsOf(hub.lags));
  }
  expect(count % 2).toBe(0);
});

test("a screen in place of output is counted", async () => {
  const { hub, clock, session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  await viewer.settled();
  for (let bytes = 0; bytes <= FEED_WINDOW_BYTES + MIB; bytes += 64 * 1024)
    session.print(new Uint8Array(64 * 1024));
  clock.time += 10_000;
  await viewer.reads(() => viewer.of(FrameType.RESYNC).length > 0);
  expect(hub.traffic.resyncs).toBe(viewer.of(FrameType.RESYNC).length);
});
