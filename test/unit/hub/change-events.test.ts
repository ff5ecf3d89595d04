import { expect, test } from "vitest";
import { Hub } from "../../../src/hub/hub.ts";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import { decodeFrame, encodeFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { decodeJson, encodeSubscribe, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { MemoryPeer } from "./memory-client.ts";
import { MemorySessions } from "./memory-sessions.ts";

test("a change of a session is encoded once for all who see it whole, also if they missed the change before", async () => {
  const sessions = new MemorySessions();
  for (const id of ["s", "other"]) sessions.add(id);
  using hub = new Hub({ backend: sessions, now: () => performance.now() });
  const peers = Array.from({ length: 3 }, () => new MemoryPeer());
  const isSeen = (sessionId = ""): boolean => sessionId === "s";
  for (const peer of peers) {
    const view = { sessions, shown: (event: ServerEvent) => (isSeen(event.sessionId) ? event : undefined) };
    const viewer = hub.connect(peer, { user: "me", address: undefined, kind: "login" }, view);
    viewer.receive(encodeFrame(FrameType.SUBSCRIBE, "", encodeSubscribe({ flags: SubscribeFlag.Events })));
  }
  const told = (peer: MemoryPeer) => peer.unread.splice(0).map(({ message }) => message);
  for (const missed of [true, false]) {
    for (const peer of peers) told(peer);
    for (const sessionId of missed ? ["other", "s"] : ["s"])
      sessions.announce({ type: "session-changed", timestamp: "now", sessionId });
    const [first, ...others] = peers.map((peer) => told(peer)[0]);
    expect(decodeJson(decodeFrame(first ?? new Uint8Array()).payload)).toMatchObject({ sessionId: "s" });
    for (const each of others) expect(each).toBe(first);
  }
});
