// How a hub parts with its clients.
import { expect, test } from "vitest";
import { Hub } from "../../../src/hub/hub.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../src/protocol/frame/payload.ts";
import { until } from "../until.ts";
import { MemoryClient } from "./memory-client.ts";
import { MemorySessions } from "./memory-sessions.ts";

const NOTICE = { afterMs: 1, jitterMs: 4, reason: "restart" };

function setUp() {
  const hub = new Hub({ backend: new MemorySessions(), now: () => performance.now() });
  const known = async () => {
    const client = new MemoryClient(hub);
    client.send(FrameType.HELLO, "", encodeJson({ client: "mine" }));
    await client.settled();
    return client;
  };
  return { hub, known, unknown: () => new MemoryClient(hub) };
}

test("a client that sent HELLO gets GOAWAY and is not closed; others are closed with 1001 and get no new frame", async () => {
  const { hub, known, unknown } = setUp();
  await using polite = await known();
  await using old = unknown();
  await old.settled();
  const before = old.frames.length;
  // The old client is closed long before one that ignores GOAWAY would be.
  const notice = { ...NOTICE, jitterMs: 60_000 };
  const drained = hub.drain(notice, () => 0);
  expect(hub.isLeaving).toBe(true);
  await until(() => old.peer.closed === 1001);
  await polite.reads(() => polite.of(FrameType.GOAWAY).length === 1);
  expect(polite.json(FrameType.GOAWAY)).toEqual([notice]);
  expect(polite.peer.closed).toBeUndefined();
  await old.reads(() => true);
  expect(old.frames.length).toBe(before);
  await polite[Symbol.asyncDispose]();
  await old[Symbol.asyncDispose]();
  await drained;
});

test("a drain without clients ends at once", async () => {
  await setUp().hub.drain({ ...NOTICE, afterMs: 60_000 }, () => 1);
});

test("a client that ignores GOAWAY is closed with 1001 in the end and delays no other", async () => {
  const { hub, known } = setUp();
  await using stays = await known();
  await hub.drain(NOTICE, () => 1);
  expect(stays.peer.closed).toBe(1001);
});
