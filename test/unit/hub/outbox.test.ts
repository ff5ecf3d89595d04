import { expect, test } from "vitest";
import { Outbox } from "../../../src/hub/outbox.ts";
import { Traffic } from "../../../src/hub/traffic.ts";
import { MAX_UNREAD_ANSWER_BYTES, OUTBOX_BYTES, OUTBOX_PAUSE_BYTES } from "../../../src/protocol/limits.ts";
import { MemoryPeer } from "./memory-client.ts";

function setUp() {
  const peer = new MemoryPeer();
  const clock = { time: 0 };
  const traffic = new Traffic();
  const outbox = new Outbox({ peer, now: () => clock.time, onSent: () => {}, traffic });
  const frames: Uint8Array[] = [];
  const offer = (...lengths: readonly number[]): void => {
    frames.push(...lengths.map((length) => new Uint8Array(length)));
    outbox.ready({ take: () => frames.shift() });
  };
  return { peer, clock, traffic, outbox, offer };
}

test("output is offered up to half a MiB and again when there is room", () => {
  const { peer, outbox, offer } = setUp();
  offer(...new Array<number>(10).fill(100_000));
  const offered = outbox.bytes;
  expect(offered).toBeGreaterThanOrEqual(OUTBOX_BYTES);
  expect(offered).toBeLessThan(OUTBOX_BYTES + 100_000);
  peer.read();
  expect(outbox.bytes).toBe(offered);
});

test("answers pass a full outbox, until too many are unread and the client is disconnected", () => {
  const { peer, outbox, offer } = setUp();
  offer(10 * OUTBOX_BYTES);
  expect(outbox.isCrowded).toBe(false);
  let answered = 0;
  while (!peer.isTerminated) {
    expect(outbox.isCrowded).toBe(answered > OUTBOX_PAUSE_BYTES);
    outbox.answer(new Uint8Array(10_000));
    answered += 10_000;
  }
  expect(answered).toBeLessThan(MAX_UNREAD_ANSWER_BYTES + 30_000);
  while (peer.read() !== undefined);
  expect(outbox.isCrowded).toBe(false);
});

test("a client that is disconnected for its unread answers counts once, however many follow", () => {
  const { peer, traffic, outbox } = setUp();
  while (!peer.isTerminated) outbox.answer(new Uint8Array(10_000));
  outbox.answer(new Uint8Array(10_000));
  expect(traffic.droppedUnread).toBe(1);
});

test("an outbox knows how long it has been full, or was the last time", () => {
  const { peer, clock, outbox, offer } = setUp();
  expect(outbox.pauseMs).toBe(0);
  offer(OUTBOX_BYTES);
  clock.time = 700;
  expect(outbox.pauseMs).toBe(700);
  peer.read();
  clock.time = 5_000;
  expect(outbox.pauseMs).toBe(700);
  offer(OUTBOX_BYTES);
  expect(outbox.pauseMs).toBe(0);
});
