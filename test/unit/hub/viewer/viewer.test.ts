import { expect, test } from "vitest";
import { guardedSessions } from "../../../../src/access/guarded-sessions.ts";
import { Hub } from "../../../../src/hub/hub.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { decodeFrame, encodeFrame, FrameType } from "../../../../src/protocol/frame/frame.ts";
import {
  decodeError,
  decodeJson,
  encodeJson,
  encodeSize,
  encodeSubscribe,
  SubscribeFlag,
} from "../../../../src/protocol/frame/payload.ts";
import { MAX_MESSAGE_BYTES, MAX_OPEN_REQUESTS, OUTBOX_PAUSE_BYTES } from "../../../../src/protocol/limits.ts";
import type { SessionBackend } from "../../../../src/sessions/backend.ts";
import { MemoryClient, MemoryPeer, settled } from "../memory-client.ts";
import { MemorySessions } from "../memory-sessions.ts";

const { Stdout, Events, Offsets } = SubscribeFlag;
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function setUp() {
  const sessions = new MemorySessions();
  const failures: unknown[] = [];
  const hub = new Hub({
    backend: sessions,
    now: () => performance.now(),
    onFailure: (error) => void failures.push(error),
  });
  return { sessions, failures, session: sessions.add("s"), client: () => new MemoryClient(hub) };
}

/** Commands that are settled one at a time, by hand. */
function byHand(sessions: MemorySessions) {
  const waiting: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  sessions.command = () => new Promise((resolve, reject) => void waiting.push({ resolve, reject }));
  return waiting;
}

test("a PONG follows the outcome of all commands before its PING", async () => {
  const { sessions, client } = setUp();
  const commands = byHand(sessions);
  await using viewer = client();
  viewer.send(FrameType.INPUT_TEXT, "s", bytesOf("a"));
  viewer.send(FrameType.PING, "", bytesOf("1"));
  viewer.send(FrameType.RESIZE, "s", encodeSize({ cols: 10, rows: 10 }));
  viewer.send(FrameType.PING, "", bytesOf("2"));
  commands[1]?.reject(new Error("a secret"));
  await settled();
  expect(viewer.peer.unread.length).toBe(2);
  commands[0]?.resolve();
  await viewer.reads(() => viewer.of(FrameType.PONG).length === 2);
  const told = viewer.frames.slice(2).map(({ type, payload }) => [type, new TextDecoder().decode(payload)]);
  expect(told).toEqual([
    [FrameType.PONG, "1"],
    [FrameType.ERROR, '{"message":"internal error","code":"internal_error","frame":3,"request":"command"}'],
    [FrameType.PONG, "2"],
  ]);
});

test("messages that are no frames are answered in their turn, also when they end the connection", async () => {
  const { sessions, client } = setUp();
  const [commands, codes] = [byHand(sessions), ["input_overflow", "binary_only"]];
  await using viewer = client();
  viewer.send(FrameType.INPUT_TEXT, "s", bytesOf("a"));
  viewer.viewer.receiveText();
  for (let i = 0; i < 16; i++) viewer.receive(new Uint8Array(i));
  await settled();
  expect(viewer.peer.closed).toBeUndefined();
  commands[0]?.reject(new ServiceError("input_overflow", "no room"));
  await viewer.reads(() => viewer.of(FrameType.ERROR).length === 18);
  const errors = viewer.of(FrameType.ERROR).map(({ payload }) => decodeError(payload));
  expect(errors.map(({ error: { code } }) => code)).toEqual([...codes, ...Array(16).fill("bad_frame")]);
  expect(errors.map(({ frame }) => frame)).toEqual(Array.from({ length: 18 }, (_, index) => index + 1));
  expect(viewer.peer.closed).toBe(1002);
});

test("the ERROR of an invalid request names the frame and its kind, as that of a failed one does", async () => {
  const { client } = setUp();
  await using viewer = client();
  viewer.send(FrameType.INPUT_KEY, "s", bytesOf("no_such_key"));
  viewer.send(FrameType.RESIZE, "s", bytesOf("short"));
  viewer.send(FrameType.KILL, "no session id", bytesOf("SIGINT"));
  viewer.send(FrameType.SUBSCRIBE, "s", bytesOf("short"));
  viewer.send(FrameType.HELLO, "", bytesOf("no JSON"));
  await viewer.settled();
  const errors = viewer.of(FrameType.ERROR).map(({ payload }) => decodeError(payload));
  expect(errors.map(({ error: { code }, request, frame }) => [frame, code, request])).toEqual([
    [1, "invalid_request", "command"],
    [2, "invalid_request", "command"],
    [3, "session_not_found", "command"],
    [4, "invalid_request", "subscribe"],
    [5, "invalid_request", undefined],
  ]);
});

test("the cause of an internal error goes to the log and not to the client", async () => {
  const { sessions, failures, client } = setUp();
  sessions.command = () => Promise.reject(new Error("a secret"));
  await using viewer = client();
  viewer.send(FrameType.INPUT_TEXT, "s", bytesOf("a"));
  await viewer.settled();
  expect(failures).toEqual([new Error("a secret")]);
});

test("commands reach the backend in order, also those behind a SUBSCRIBE that takes a while", async () => {
  const { sessions, session, client } = setUp();
  const gate = Promise.withResolvers<void>();
  const subscribe = sessions.subscribe.bind(sessions);
  sessions.subscribe = async (id, sink) => {
    await gate.promise;
    return subscribe(id, sink);
  };
  await using viewer = client();
  viewer.send(FrameType.INPUT_TEXT, "s", bytesOf("1"));
  viewer.subscribe("s", { flags: Stdout | Offsets });
  const message = encodeFrame(FrameType.INPUT_TEXT, "s", bytesOf("2"));
  viewer.receive(message);
  message.fill(0);
  viewer.send(FrameType.UNSUBSCRIBE, "s");
  viewer.send(FrameType.PING, "");
  await settled();
  expect(session.input.map(String)).toEqual(["49"]);
  gate.resolve();
  await viewer.reads(() => viewer.of(FrameType.PONG).length === 1);
  expect(session.input.map(String)).toEqual(["49", "50"]);
  expect(viewer.frames.map(({ type }) => type)).toEqual([
    FrameType.WELCOME,
    FrameType.WELCOME,
    FrameType.SUBSCRIBED,
    FrameType.PONG,
  ]);
  expect(viewer.viewer.sessionIds).toEqual([]);
  expect(session.sink).toBeUndefined();
});

test("a client is not read while its requests wait, and is read again afterwards", async () => {
  const { sessions, session, client } = setUp();
  const gate = Promise.withResolvers<void>();
  const get = sessions.get.bind(sessions);
  sessions.get = async (id) => {
    await gate.promise;
    return get(id);
  };
  await using viewer = client();
  for (let i = 0; i < MAX_OPEN_REQUESTS * 2; i++) {
    viewer.subscribe("s", { flags: Stdout | Offsets, from: 1_000 });
    viewer.send(FrameType.INPUT_TEXT, "s", bytesOf("x"));
    expect(viewer.peer.isPaused).toBe(i >= MAX_OPEN_REQUESTS / 2);
  }
  gate.resolve();
  await viewer.reads(() => session.input.length === MAX_OPEN_REQUESTS * 2);
  await viewer.settled();
  expect(viewer.peer.isPaused).toBe(false);
});

test("a client is not read while more than one of its longest messages wait", async () => {
  const { sessions, session, client } = setUp();
  const gate = Promise.withResolvers<void>();
  sessions.answer = () => gate.promise;
  await using viewer = client();
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 1_000 });
  const half = bytesOf("x".repeat(0.75 * MAX_MESSAGE_BYTES));
  for (const isPaused of [false, true]) {
    viewer.send(FrameType.INPUT_TEXT, "s", half);
    expect(viewer.peer.isPaused).toBe(isPaused);
  }
  gate.resolve();
  await viewer.reads(() => session.input.length === 2);
  await viewer.settled();
  expect(viewer.peer.isPaused).toBe(false);
});

test("unsettled commands are bounded, and the client is not read meanwhile", async () => {
  const { sessions, session, client } = setUp();
  const commands = byHand(sessions);
  await using viewer = client();
  for (let i = 0; i < 3 * MAX_OPEN_REQUESTS; i++) viewer.send(FrameType.INPUT_TEXT, "s", bytesOf("x"));
  expect(session.input.length).toBe(MAX_OPEN_REQUESTS);
  expect(viewer.peer.isPaused).toBe(true);
  for (let answered = 0; answered < 3 * MAX_OPEN_REQUESTS; ) {
    const command = commands.shift();
    command?.resolve();
    if (command === undefined) await settled(1);
    else answered += 1;
  }
  await settled();
  expect(session.input.length).toBe(3 * MAX_OPEN_REQUESTS);
  expect(viewer.peer.isPaused).toBe(false);
});

test("a client that leaves its answers unread is not read until it has taken them", async () => {
  const { client } = setUp();
  await using viewer = client();
  const payload = new Uint8Array(100_000);
  while (!viewer.peer.isPaused) viewer.send(FrameType.PING, "", payload);
  expect(viewer.peer.unreadBytes).toBeLessThan(OUTBOX_PAUSE_BYTES + 200_000);
  for (let i = 0; i < 3; i++) viewer.read();
  expect(viewer.peer.isPaused).toBe(false);
  expect(viewer.peer.isTerminated).toBe(false);
});

test("a large unread screen neither stops the requests of the client nor disconnects it", async () => {
  const { sessions, session, client } = setUp();
  session.held = 1;
  session.print("xx");
  const view = sessions.view.bind(sessions);
  sessions.view = async (id, wanted) => {
    const content = await view(id, wanted);
    if (wanted.kind !== "resync") return content;
    const large = new Uint8Array(16 + 8 * 1024 * 1024);
    large.set([2, 0, 0, 0, 0, 0, 0, 0, 80, 0, 0, 0, 24]);
    return { ...content, body: piecesOf(large) };
  };
  await using viewer = client();
  viewer.subscribe("", { flags: Events });
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 0 });
  await settled();
  viewer.send(FrameType.PING, "");
  sessions.announce({ type: "bell", timestamp: "", sessionId: "s" });
  await settled();
  expect(viewer.peer.unreadBytes).toBeGreaterThan(8 * 1024 * 1024);
  expect(viewer.peer.isPaused).toBe(false);
  expect(viewer.peer.isTerminated).toBe(false);
});

test("a client that leaves events unread is disconnected before they take 4 MiB", async () => {
  const { sessions, client } = setUp();
  await using viewer = client();
  viewer.subscribe("", { flags: Events });
  for (let i = 0; i < 100_000 && !viewer.peer.isTerminated; i++) {
    sessions.announce({ type: "bell", timestamp: "", sessionName: "x".repeat(1000) });
  }
  expect(viewer.peer.isTerminated).toBe(true);
  expect(viewer.peer.unreadBytes).toBeLessThan(4 * 1024 * 1024);
});

test("sixteen bad frames in a row close the connection, fewer do not, and later frames are ignored", async () => {
  const { session, client } = setUp();
  await using viewer = client();
  for (let i = 0; i < 15; i++) viewer.receive(new Uint8Array(i));
  await viewer.settled();
  for (let i = 0; i < 15; i++) viewer.receive(new Uint8Array(i));
  expect(viewer.peer.closed).toBeUndefined();
  viewer.receive(new Uint8Array(12));
  expect(viewer.peer.closed).toBe(1002);
  viewer.send(FrameType.INPUT_TEXT, "s", bytesOf("x"));
  await settled();
  expect(session.input).toEqual([]);
  while (viewer.read() !== undefined);
  expect(viewer.json(FrameType.ERROR).length).toBe(31);
  expect(viewer.json(FrameType.ERROR)[0]).toMatchObject({ code: "bad_frame" });
});

test("a client that is silent for two pings is disconnected, any message prevents that, even if the server stood still", async () => {
  let time = 0;
  let pings = 0;
  const peers = await new Promise<readonly MemoryClient[]>((resolve) => {
    const hub = new Hub({ backend: new MemorySessions(), now: () => time, pingIntervalMs: 10 });
    const silent = new MemoryClient(hub);
    const alive = new MemoryClient(hub);
    const talking = new MemoryClient(hub);
    silent.peer.ping = () => {
      pings += 1;
      time += 1_000;
    };
    alive.peer.ping = () => alive.viewer.heard();
    talking.peer.ping = () => talking.receive(new Uint8Array());
    silent.peer.terminate = () => resolve([silent, alive, talking]);
  });
  expect(pings).toBe(2);
  expect(peers.map(({ peer }) => peer.isTerminated)).toEqual([false, false, false]);
});

test("HELLO identifies a client, and an invalid HELLO is refused", async () => {
  const { client } = setUp();
  await using viewer = client();
  viewer.send(FrameType.HELLO, "", encodeJson({ client: "mine", version: "1" }));
  viewer.send(FrameType.HELLO, "", bytesOf("{"));
  await viewer.settled();
  expect(viewer.viewer.hello).toEqual({ client: "mine", version: "1" });
  expect(viewer.json(FrameType.ERROR)).toMatchObject([{ code: "invalid_request" }]);
});

test("an event for one user reaches only that user's clients that watch all sessions", async () => {
  const sessions = new MemorySessions();
  const hub = new Hub({ backend: sessions, now: () => performance.now() });
  const [mine, deaf, theirs] = [new MemoryPeer(), new MemoryPeer(), new MemoryPeer()];
  const view = { sessions, shown: () => undefined };
  const users = [
    [mine, "me"],
    [deaf, "me"],
    [theirs, "other"],
  ] as const;
  for (const [peer, user] of users) {
    const viewer = hub.connect(peer, { user, address: undefined, kind: "login" }, view);
    const flags = encodeSubscribe({ flags: peer === deaf ? 0 : Events });
    viewer.receive(encodeFrame(FrameType.SUBSCRIBE, "", flags));
    while (peer.read() !== undefined);
  }
  const event = { type: "test-notification", timestamp: "now", sessionId: "test-session" } as const;
  expect(hub.tellUser("me", event)).toBe(1);
  expect([deaf, theirs].map(({ unread }) => unread)).toEqual([[], []]);
  const told = decodeFrame(mine.read() ?? new Uint8Array());
  expect([told.sessionId, decodeJson(told.payload)]).toEqual(["test-session", event]);
  hub[Symbol.dispose]();
});

test("the answers come in the byte order of the first valid frame", async () => {
  const { client } = setUp();
  for (const magic of ["VT", "TV"] as const) {
    await using viewer = client();
    viewer.magic = magic;
    viewer.receive(bytesOf("no frame at all"));
    viewer.send(FrameType.SUBSCRIBE, "s", encodeSubscribe({ flags: 15 }));
    viewer.receive(encodeFrame(FrameType.PING, "", new Uint8Array(), magic === "VT" ? "TV" : "VT"));
    await viewer.reads(() => viewer.of(FrameType.PONG).length === 1);
    // WELCOME twice, and the ERROR that the first message is answered with.
    expect(viewer.frames.slice(0, 3).map((frame) => frame.magic)).toEqual(["VT", "TV", "VT"]);
    expect(viewer.frames.slice(3).map((frame) => frame.magic)).toEqual(
      viewer.frames.slice(3).map(() => magic),
    );
  }
});

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

test("a SUBSCRIBE to a session that is known asks its machine nothing, and delays no other session", async () => {
  const sessions = new MemorySessions();
  for (const id of ["silent", "healthy"]) {
    const session = sessions.add(id);
    Object.defineProperty(session, "record", { value: { ...session.record, owner: "me" } });
  }
  const hub = new Hub({ backend: sessions, now: () => performance.now() });
  await using admin = new MemoryClient(hub);
  admin.subscribe("silent", { flags: Stdout | Offsets, from: 0 });
  await admin.settled();
  sessions.get = () => new Promise(() => {});
  const own = guardedSessions(sessions, { kind: "owner", owner: "me" });
  await using user = new MemoryClient(hub, { sessions: own, shown: () => undefined });
  for (const id of ["silent", "healthy"]) user.subscribe(id, { flags: Stdout | Offsets, from: 0 });
  await user.settled();
  expect(user.of(FrameType.SUBSCRIBED).map(({ sessionId }) => sessionId)).toEqual(["silent", "healthy"]);
});

test("a client that goes while its SUBSCRIBE is open leaves nothing in the feed that others share", async () => {
  const sessions = new MemorySessions();
  sessions.add("s");
  const requested: number[] = [];
  const subscribe = sessions.subscribe.bind(sessions);
  sessions.subscribe = async (id, sink) =>
    Object.assign(await subscribe(id, sink), {
      request: async (flags: number) => void requested.push(flags),
    });
  const hub = new Hub({ backend: sessions, now: () => performance.now() });
  await using stays = new MemoryClient(hub);
  stays.subscribe("s", { flags: Stdout | Offsets, from: 0 });
  await stays.settled();
  const found = Promise.withResolvers<void>();
  const slow: SessionBackend = Object.create(sessions);
  slow.find = async (id) => {
    await found.promise;
    return sessions.find(id);
  };
  const goes = new MemoryClient(hub, { sessions: slow, shown: (event) => event });
  goes.subscribe("s", { flags: Stdout | Offsets | SubscribeFlag.Snapshots, from: 0 });
  await settled();
  await goes[Symbol.asyncDispose]();
  found.resolve();
  await settled();
  expect(requested.filter((flags) => (flags & SubscribeFlag.Snapshots) !== 0)).toEqual([]);
});

test("a size that comes while a SUBSCRIBE waits for the record of its session is newer than that record's", async () => {
  const { sessions, session, client } = setUp();
  await using viewer = client();
  const { asked, release } = sessions.holdAnswers();
  viewer.subscribe("s", { flags: Stdout | Offsets, from: 1_000 });
  await asked;
  session.resize({ cols: 100, rows: 30 });
  release();
  await viewer.settled();
  expect(viewer.json(FrameType.SUBSCRIBED)).toMatchObject([{ cols: 100, rows: 30 }]);
});
