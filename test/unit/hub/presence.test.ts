import { expect, test } from "vitest";
import { Hub } from "../../../src/hub/hub.ts";
import { encodeFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import {
  ClientFlag,
  decodeJson,
  encodeJson,
  encodeSubscribe,
  SubscribeFlag,
  UPLINK_CLIENT,
} from "../../../src/protocol/frame/payload.ts";
import { MAX_TOLD_VIEWERS } from "../../../src/protocol/limits.ts";
import { GuestName, type SessionViewer } from "../../../src/protocol/schemas/viewer.ts";
import { MemoryClient, MemoryPeer } from "./memory-client.ts";
import { MemorySessions } from "./memory-sessions.ts";

test.each([
  ["  Ana   Lund ", "Ana Lund"],
  ["Ana\u202e\u2066\u200b\u0000\u001b[31m", "Ana[31m"],
  ["A\u0301\u0302\u0303\u0304\u0305n", "\u00c1\u0302\u0303n"],
  ["first\nsecond\u2028third", "first second third"],
  ["\u202e\u200b \t", ""],
  ["\u{1f600}".repeat(40), "\u{1f600}".repeat(32)],
  ["محمد", "محمد"],
])("a guest who says %j is called %j", (said, name) => {
  expect(GuestName.parse(said)).toBe(name);
});

test("of many viewers each is told of some and of itself, because all of all would be quadratic", async () => {
  const sessions = new MemorySessions();
  sessions.add("s");
  using hub = new Hub({ backend: sessions, now: () => performance.now() });
  const clients = Array.from({ length: MAX_TOLD_VIEWERS + 20 }, () => new MemoryClient(hub));
  const told = (client?: MemoryClient): readonly SessionViewer[][] =>
    (client?.of(FrameType.EVENT) ?? [])
      .map(({ payload }) => Object(decodeJson(payload)))
      .flatMap(({ kind, viewers }) => (kind === "viewers" ? [viewers] : []));
  for (const client of clients) {
    client.subscribe("s", { flags: SubscribeFlag.Events | ClientFlag.Viewers });
    await client.reads(() => told(client).length > 0);
  }
  const [first, last] = [clients[0], clients.at(-1)];
  expect(told(last)[0]).toHaveLength(MAX_TOLD_VIEWERS + 1);
  expect(told(last)[0]?.filter(({ isYou }) => isYou)).toHaveLength(1);
  // A change is told to all.
  clients[3]?.viewer[Symbol.dispose]();
  for (const client of [first, last]) await client?.reads(() => told(client).length > 1);
  expect(
    told(first)
      .at(-1)
      ?.findIndex(({ isYou }) => isYou),
  ).toBe(0);
  expect(told(first).at(-1)).toHaveLength(MAX_TOLD_VIEWERS);
  expect(
    told(last)
      .at(-1)
      ?.findIndex(({ isYou }) => isYou),
  ).toBe(MAX_TOLD_VIEWERS);
  const reader = { id: undefined, user: "me", kind: "login" } as const;
  expect(hub.presence.of("s", reader)).toHaveLength(clients.length - 1);
});

test("only connections of an HQ count as uplinks, whatever other clients call themselves", () => {
  using hub = new Hub({ backend: new MemorySessions(), now: () => performance.now() });
  const global = encodeFrame(FrameType.SUBSCRIBE, "", encodeSubscribe({ flags: SubscribeFlag.Events }));
  for (const kind of ["login", "guest", "hq"] as const) {
    const viewer = hub.connect(new MemoryPeer(), { user: "me", address: undefined, kind });
    viewer.receive(encodeFrame(FrameType.HELLO, "", encodeJson({ client: UPLINK_CLIENT })));
    viewer.receive(global);
    const isHq = kind === "hq";
    expect(hub.uplinks).toEqual({ isOpen: isHq, closed: 0 });
    viewer[Symbol.dispose]();
    expect(hub.uplinks).toEqual({ isOpen: false, closed: isHq ? 1 : 0 });
  }
});
