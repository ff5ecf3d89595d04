import { expect, test } from "vitest";
import type { Feed } from "../../../../src/hub/feed.ts";
import { Hub } from "../../../../src/hub/hub.ts";
import { keyOf } from "../../../../src/protocol/directory/session-change.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { FrameType, OFFSET_BYTES } from "../../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../../src/protocol/frame/payload.ts";
import { FEED_WINDOW_BYTES, STALLED_AFTER_MS } from "../../../../src/protocol/limits.ts";
import { MemoryClient, settled, textOf } from "../memory-client.ts";
import { MemorySessions } from "../memory-sessions.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;

function setUp() {
  const sessions = new MemorySessions();
  const hub = new Hub({ backend: sessions, now: () => performance.now() });
  return { sessions, hub, session: sessions.add("s"), client: () => new MemoryClient(hub) };
}

test("the answer to a SUBSCRIBE does not wait behind unread output", async () => {
  const { sessions, session, client } = setUp();
  const other = sessions.add("other");
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  await viewer.settled();
  for (let i = 0; i < 20; i++) session.print(textOf(100_000));
  viewer.subscribe("other", { flags: Stdout | Offsets });
  viewer.send(FrameType.PING, "");
  await settled();
  other.print("x");
  await viewer.reads(() => viewer.output.length === 21);
  const types = viewer.frames.map(({ type, sessionId }) => `${type} ${sessionId}`);
  expect(types.indexOf("12 other")).toBeLessThan(types.lastIndexOf("41 "));
});

test("a second SUBSCRIBE with other flags repeats no output and leaves none out", async () => {
  const { session, client } = setUp();
  session.print("one ");
  await using viewer = client();
  await using other = client();
  viewer.subscribe("s", { flags: Stdout });
  other.subscribe("s", { flags: Stdout });
  await other.settled();
  await viewer.settled();
  await viewer.reads(() => viewer.stdout === "one ");
  for (const flags of [Stdout | Events, Stdout, Stdout | Events | Snapshots]) {
    viewer.subscribe("s", { flags });
    session.print("more ");
    await viewer.settled();
  }
  viewer.subscribe("s", { flags: Events });
  session.print("unseen ");
  await viewer.settled();
  viewer.subscribe("s", { flags: Stdout });
  await viewer.settled();
  session.print("end");
  await viewer.reads(() => viewer.stdout.endsWith("end"));
  await other.settled();
  expect(viewer.stdout).toBe("one more more more unseen end");
  expect(other.stdout).toBe("one more more more unseen end");
});

test("a change of the flags during the history does not lose history", async () => {
  const { sessions, session, client } = setUp();
  session.print("history");
  const gate = Promise.withResolvers<void>();
  sessions.turn = () => gate.promise;
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout });
  viewer.subscribe("s", { flags: Events });
  viewer.subscribe("s", { flags: Stdout | Events });
  await viewer.settled();
  gate.resolve();
  await viewer.reads(() => viewer.stdout === "history");
  session.print("!");
  await viewer.reads(() => viewer.stdout === "history!");
});

test("a client that requests offsets in the middle of a character gets all its bytes", async () => {
  const { session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout });
  await viewer.settled();
  session.print("a");
  session.print(new Uint8Array([0xe2, 0x82]));
  await viewer.settled();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  await viewer.settled();
  session.print(new Uint8Array([0xac]));
  await viewer.settled();
  expect(viewer.stdout).toBe("a");
  expect(viewer.json(FrameType.SUBSCRIBED)).toMatchObject([{ offset: 1 }]);
  const bytes = viewer.of(FrameType.OUTPUT).flatMap(({ payload }) => [...payload.subarray(8)]);
  expect(bytes).toEqual([0xe2, 0x82, 0xac]);
});

test("the exit is sent whatever the flags, after the last byte, and again to later viewers", async () => {
  const { session, client } = setUp();
  const exit = { kind: "exit", type: "session-exit", sessionId: "s", exitCode: 3 };
  const kinds = [0, Stdout, Snapshots, Events, 6, 5, Stdout | Offsets, 15];
  const viewers = kinds.map(() => client());
  for (const [index, viewer] of viewers.entries()) viewer.subscribe("s", { flags: kinds[index] ?? 0 });
  for (const viewer of viewers) await viewer.settled();
  session.print("the end");
  session.exit(3);
  for (const viewer of viewers) {
    const exits = (): readonly unknown[] =>
      viewer.json(FrameType.EVENT).filter((event) => JSON.stringify(event) === JSON.stringify(exit));
    await viewer.reads(() => exits().length > 0);
    await viewer.settled();
    expect(exits().length).toBe(1);
    const order = viewer.frames.map(({ type }) => type).filter((type) => [20, 21, 22, 24].includes(type));
    expect(order.at(-1)).toBe(FrameType.EVENT);
  }
  for (const flags of kinds) {
    await using late = client();
    late.subscribe("s", { flags });
    await late.reads(() =>
      late.json(FrameType.EVENT).some((event) => JSON.stringify(event) === JSON.stringify(exit)),
    );
  }
  for (const viewer of viewers) await viewer[Symbol.asyncDispose]();
});

test("the history contains the resizes in their places for viewers that request events", async () => {
  const { session, client } = setUp();
  session.print("wide");
  session.resize({ cols: 40, rows: 10 });
  await using other = client();
  other.subscribe("s", { flags: 0 });
  await other.settled();
  session.resize({ cols: 41, rows: 11 });
  session.resize({ cols: 41, rows: 12 });
  session.print("narrow");
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Events });
  await viewer.reads(() => viewer.stdout === "widenarrow");
  const told = viewer.frames
    .filter(({ type }) => type === FrameType.EVENT || type === FrameType.STDOUT)
    .map(({ payload }) => new TextDecoder().decode(payload))
    .map((text) => (text.startsWith("{") ? JSON.parse(text) : text));
  expect(told[0]).toMatchObject({ kind: "header", header: { version: 2, width: 80, height: 24 } });
  expect(told.filter((item) => typeof item === "string" || item.kind === "resize")).toMatchObject([
    { dimensions: "80x24" },
    "wide",
    { dimensions: "40x10" },
    { dimensions: "41x11" },
    { dimensions: "41x12" },
    "narrow",
  ]);
});

test("viewers learn that their session was removed, and a new session with its id is another one", async () => {
  const { sessions, session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  session.print("old");
  session.exit(0);
  await viewer.settled();
  await sessions.remove("s");
  await viewer.reads(() => viewer.of(FrameType.ERROR).length > 0);
  expect(viewer.json(FrameType.ERROR, "s")).toMatchObject([{ code: "session_not_found" }]);
  const again = sessions.add("s");
  again.print("new");
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 0 });
  await viewer.reads(() => viewer.output.length === 2);
  expect(viewer.output).toEqual([
    [0, "old"],
    [0, "new"],
  ]);
});

/** Subscriptions to the sessions are answered once `open` is called. */
function slowly(sessions: MemorySessions): { readonly open: () => void } {
  const gate = Promise.withResolvers<void>();
  const subscribe = sessions.subscribe.bind(sessions);
  sessions.subscribe = async (id, sink) => {
    const subscription = await subscribe(id, sink);
    await gate.promise;
    return subscription;
  };
  return { open: gate.resolve };
}

test("a late report that an earlier session with its id was removed does not concern a viewer whose SUBSCRIBE is open", async () => {
  const { sessions, session, client } = setUp();
  const { open } = slowly(sessions);
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  sessions.announce({ type: "session-removed", timestamp: "", sessionId: "s", key: "an earlier one" });
  open();
  await viewer.settled();
  session.print("new");
  await viewer.reads(() => viewer.output.length > 0 || viewer.of(FrameType.ERROR).length > 0);
  expect(viewer.json(FrameType.ERROR)).toEqual([]);
  expect(viewer.output).toEqual([[0, "new"]]);
});

test("a viewer who subscribes after the removal of a session whose feed is being opened gets the next session with its id", async () => {
  const { sessions, client } = setUp();
  const { open } = slowly(sessions);
  await using early = client();
  early.subscribe("s", { flags: Stdout | Offsets });
  await sessions.remove("s");
  const again = sessions.add("s");
  again.created = "2026-01-02T00:00:00.000Z";
  again.print("new");
  await using late = client();
  late.subscribe("s", { flags: Stdout | Offsets });
  open();
  await early.reads(() => early.of(FrameType.ERROR).length > 0);
  await late.reads(() => late.output.length > 0);
  expect(late.output).toEqual([[0, "new"]]);
  expect(late.of(FrameType.ERROR)).toEqual([]);
});

test("a SUBSCRIBE whose session is removed before it is answered fails", async () => {
  const { sessions, client } = setUp();
  const { open } = slowly(sessions);
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  await sessions.remove("s");
  open();
  await viewer.settled();
  expect(viewer.json(FrameType.ERROR)).toMatchObject([
    { code: "session_not_found", frame: 1, request: "subscribe" },
  ]);
  expect(viewer.viewer.sessionIds).toEqual([]);
});

test("a later SUBSCRIBE fails as well if its session is removed before it is answered", async () => {
  const { sessions, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets });
  await viewer.settled();
  const { asked, release } = sessions.holdAnswers();
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 1_000 });
  await asked;
  await sessions.remove("s");
  release();
  await viewer.settled();
  const [lost, refused] = viewer.json(FrameType.ERROR);
  expect(lost).toMatchObject({ code: "session_not_found", frame: 0 });
  expect(refused).toMatchObject({ code: "session_not_found", frame: 3, request: "subscribe" });
  expect(viewer.viewer.sessionIds).toEqual([]);
});

test("viewers learn that the upstream of their session gave up", async () => {
  const { session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Snapshots });
  await viewer.settled();
  session.lose(new ServiceError("session_not_found", "no session s"));
  await viewer.settled();
  expect(viewer.json(FrameType.ERROR, "s")).toEqual([
    { message: "no session s", code: "session_not_found", frame: 0 },
  ]);
  expect(viewer.viewer.sessionIds).toEqual([]);
});

test("after a lost connection, a new session with the same id is not shown as the old one, unlike sessions that stayed", async () => {
  const { sessions, session, client } = setUp();
  const stayed = sessions.add("stayed");
  session.print("old");
  await using viewer = client();
  for (const id of ["s", "stayed"]) viewer.subscribe(id, { flags: Stdout });
  session.exit(0);
  await viewer.settled();
  const other = sessions.add("s");
  other.created = "2026-01-02T00:00:00.000Z";
  other.print("new");
  const removed = { type: "session-removed", timestamp: "", sessionId: "s" } as const;
  sessions.announce({ ...removed, key: keyOf(session.record) });
  await viewer.reads(() => viewer.of(FrameType.ERROR).length > 0);
  expect(viewer.json(FrameType.ERROR, "s")).toMatchObject([{ code: "session_not_found" }]);
  await using late = client();
  late.subscribe("s", { flags: Stdout });
  await late.reads(() => late.stdout === "new");
  stayed.print("more");
  await viewer.reads(() => viewer.of(FrameType.STDOUT, "stayed").length > 0);
  expect(viewer.of(FrameType.ERROR)).toHaveLength(1);
});

test("a session that is gone after a lost connection is reported as lost", async () => {
  const { sessions, hub, session, client } = setUp();
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout });
  session.exit(0);
  await viewer.settled();
  await sessions.remove("s");
  await viewer.reads(() => viewer.of(FrameType.ERROR).length > 0);
  expect(hub.watchedSessions).toBe(0);
});

test("a first SUBSCRIBE that fails leaves no subscription behind", async () => {
  const { sessions, hub, client } = setUp();
  sessions.get = () => Promise.reject(new ServiceError("remote_unreachable", "the remote is gone"));
  await using viewer = client();
  // Beyond the end that this process knows, so the backend is asked.
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 99 });
  await viewer.reads(() => viewer.of(FrameType.ERROR).length > 0);
  expect(viewer.json(FrameType.ERROR, "s")).toMatchObject([{ code: "remote_unreachable" }]);
  expect(hub.watchedSessions).toBe(0);
});

test("a slow viewer of events gets those from before and after skipped output", async () => {
  const { sessions, session, client } = setUp();
  const other = sessions.add("other");
  await using viewer = client();
  viewer.subscribe("s", { flags: Events });
  viewer.subscribe("other", { flags: Stdout });
  await viewer.settled();
  for (let i = 0; i < 20; i++) other.print(textOf(100_000));
  session.resize({ cols: 100, rows: 30 });
  session.skip("left out");
  session.resize({ cols: 132, rows: 43 });
  session.exit(3);
  const told = () => viewer.json(FrameType.EVENT, "s").map((event) => Object(event));
  await viewer.reads(() => told().some(({ kind }) => kind === "exit"));
  expect(told().map(({ kind, dimensions }) => dimensions ?? kind)).toEqual(["100x30", "132x43", "exit"]);
});

/** Sixteen sessions with a client that watches them, and the bytes of output that their feeds hold. */
async function stallable(flags: number) {
  const clock = { time: 0 };
  const sessions = new MemorySessions();
  const hub = new Hub({ backend: sessions, now: () => clock.time });
  const feeds: Feed[] = [];
  const openFeed = hub.openFeed.bind(hub);
  hub.openFeed = async (...request) => {
    const feed = await openFeed(...request);
    feeds.push(feed);
    return feed;
  };
  const viewer = new MemoryClient(hub);
  const all = Array.from({ length: 16 }, (_, index) => sessions.add(`s${index}`));
  for (const { id } of all) viewer.subscribe(id, { flags });
  await viewer.settled();
  const heldBytes = (): number => feeds.reduce((bytes, { start, end }) => bytes + end - start, 0);
  const stall = (): void => {
    clock.time += 2 * STALLED_AFTER_MS;
  };
  return { sessions, all, viewer, heldBytes, stall };
}

test("all subscriptions of a client that does not read hold one window together, and lose nothing", async () => {
  const { all, viewer: client, heldBytes, stall } = await stallable(Stdout | Offsets);
  await using viewer = client;
  for (let i = 0; i < 20; i++) for (const session of all) session.print(textOf(100_000));
  stall();
  for (const session of all) session.print("end");
  expect(heldBytes()).toBeLessThan(FEED_WINDOW_BYTES);
  await viewer.reads(() =>
    all.every(({ id }) => viewer.of(FrameType.OUTPUT, id).at(-1)?.payload.length === 11),
  );
  for (const { id } of all) {
    const bytes = viewer.of(FrameType.OUTPUT, id).map(({ payload }) => payload.length - OFFSET_BYTES);
    expect(bytes.reduce((sum, length) => sum + length)).toBe(2_000_003);
  }
});

test("subscriptions to events alone hold no more, and learn the size that they missed", async () => {
  const { sessions, all, viewer: client, heldBytes, stall } = await stallable(Events);
  await using viewer = client;
  const flood = sessions.add("flood");
  viewer.subscribe("flood", { flags: Stdout });
  await viewer.settled();
  for (let i = 0; i < 10; i++) flood.print(textOf(100_000));
  stall();
  flood.print("end");
  for (const session of all) session.resize({ cols: 100, rows: 30 });
  for (let i = 0; i < 200; i++) for (const session of all) session.print(textOf(10_000));
  expect(heldBytes()).toBeLessThan(FEED_WINDOW_BYTES);
  for (const session of all) session.exit(0);
  const told = (id: string) => viewer.json(FrameType.EVENT, id).map((event) => Object(event));
  await viewer.reads(() => all.every(({ id }) => told(id).some(({ kind }) => kind === "exit")));
  for (const { id } of all) expect(told(id)).toMatchObject([{ dimensions: "100x30" }, { kind: "exit" }]);
});

test("a client that stalled once and reads again is not sent to the journal for large output", async () => {
  const { sessions, all, viewer: client, stall } = await stallable(Stdout | Offsets);
  await using viewer = client;
  for (const session of all.slice(0, 6)) session.print(textOf(100_000));
  stall();
  const bytes = () =>
    viewer.of(FrameType.OUTPUT).reduce((sum, { payload }) => sum + payload.length - OFFSET_BYTES, 0);
  await viewer.reads(() => bytes() === 600_000);
  sessions.views.length = 0;
  all[0]?.print(textOf(300_000));
  await viewer.reads(() => bytes() === 900_000);
  expect(sessions.views).toEqual([]);
});
