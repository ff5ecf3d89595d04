// Contract 1.8 and facts 1.8, 1.9: events for clients.
import { afterAll, beforeAll, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSize, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { TestServer } from "../harness/test-server.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;
const KINDS = [0, Stdout, Snapshots, Events, Stdout | Events, Snapshots | Events, Stdout | Offsets, 15];

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

test("the exit is told once to every client whatever its flags, after the last byte of output", async () => {
  const script = "stty -echo; read line; seq 1 100000; exit 7";
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  const clients = await Promise.all(
    KINDS.map(async (flags) => {
      const socket = await RawSocket.open(server.url);
      socket.subscribe(id, { flags });
      await socket.settled();
      return { socket, flags };
    }),
  );
  clients[0]?.socket.type(id, "\n");
  const exit = { kind: "exit", type: "session-exit", sessionId: id, exitCode: 7 };
  for (const { socket, flags } of clients) {
    expect(await socket.event("exit")).toEqual(exit);
    await socket.settled();
    const exits = socket.jsons(FrameType.EVENT, id).filter(({ kind }) => kind === "exit");
    expect(exits.length).toBe(1);
    if ((flags & Stdout) === 0) expect(socket.outputBytes).toBe(0);
    else expect(textOf(socket.output().subarray(-8))).toBe("100000\r\n");
    const at = socket.frames.findLastIndex(({ type }) => type === FrameType.EVENT);
    const after = socket.frames.slice(at).map(({ type }) => type);
    expect(after).not.toContain(FrameType.OUTPUT);
    expect(after).not.toContain(FrameType.STDOUT);
    await socket[Symbol.asyncDispose]();
  }
});

test("the exit is told to whoever comes later, with the signal if there was one, and after the history", async () => {
  const { id } = await server.client().create({ command: ["sh", "-c", "echo words; kill -SEGV $$"] });
  const exit = { kind: "exit", type: "session-exit", sessionId: id, exitCode: 139, signal: "SIGSEGV" };
  for (const flags of KINDS) {
    await using socket = await RawSocket.open(server.url);
    socket.subscribe(id, { flags });
    expect(await socket.event("exit")).toEqual(exit);
    const types = socket.frames.map(({ type }) => type);
    if ((flags & Stdout) !== 0) expect(textOf(socket.output())).toBe("words\r\n");
    expect(types.lastIndexOf(FrameType.EVENT)).toBeGreaterThan(
      Math.max(types.lastIndexOf(FrameType.STDOUT), types.lastIndexOf(FrameType.OUTPUT)),
    );
  }
});

test("a resize is told in its place in the output, and only to those who want events", async () => {
  const script = "stty raw -echo; printf ready; exec cat";
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  await using socket = await RawSocket.open(server.url);
  await using quiet = await RawSocket.open(server.url);
  for (const [client, flags] of [
    [socket, Stdout | Events | Offsets],
    [quiet, Stdout],
  ] as const) {
    client.subscribe(id, { flags });
    await client.shows(/ready/);
  }
  socket.type(id, "before");
  await socket.shows(/before/);
  socket.send(FrameType.RESIZE, id, encodeSize({ cols: 120, rows: 50 }));
  socket.send(FrameType.RESIZE, id, encodeSize({ cols: 120, rows: 50 }));
  socket.type(id, "after");
  for (const client of [socket, quiet]) await client.shows(/after/);
  const resizes = socket.jsons(FrameType.EVENT).filter(({ dimensions }) => dimensions === "120x50");
  expect(resizes).toEqual([{ kind: "resize", dimensions: "120x50", cols: 120, rows: 50 }]);
  const told = socket.frames.map(({ payload }) => textOf(payload)).join("\n");
  expect(told).toMatch(/before.*120x50.*after/s);
  expect(quiet.of(FrameType.EVENT)).toEqual([]);
});

test("titles and markers are sent only to clients with Offsets, because others do not know them", async () => {
  const script = "stty raw -echo; printf ready; exec cat";
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  await using socket = await RawSocket.open(server.url);
  await using old = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: Stdout | Events | Offsets });
  old.subscribe(id, { flags: Stdout | Events });
  for (const client of [socket, old]) await client.shows(/ready/);
  socket.type(id, "\x1b]2;a title\x07");
  await socket.event("title");
  await server.client().mark(id, "a mark");
  expect(await socket.event("marker")).toEqual({ kind: "marker", label: "a mark" });
  socket.type(id, "end");
  for (const client of [socket, old]) await client.shows(/end/);
  expect(old.jsons(FrameType.EVENT).map(({ kind }) => kind)).not.toContain("title");
  expect(old.jsons(FrameType.EVENT).map(({ kind }) => kind)).not.toContain("marker");
});

test("the empty session id is the channel of global events, answered by `connected` each time", async () => {
  await using socket = await RawSocket.open(server.url);
  await using deaf = await RawSocket.open(server.url);
  socket.subscribe("", { flags: Events });
  socket.subscribe("", { flags: 7 });
  deaf.subscribe("", { flags: Stdout | Snapshots });
  await socket.settled();
  const greetings = socket.jsons(FrameType.EVENT, "");
  expect(greetings.map(({ type }) => type)).toEqual(["connected", "connected"]);
  const client = server.client();
  const session = await client.create({
    command: ["sh", "-c", "read line; printf '\\a'; exec cat"],
    name: "first",
  });
  const { id } = session;
  const start = await socket.event("session-start");
  expect(start).toMatchObject({ sessionId: id, sessionName: "first" });
  await client.rename(id, "second");
  await client.input(id, { text: "\n" });
  await socket.event("bell");
  await client.remove(id);
  expect(await socket.event("session-exit")).toMatchObject({
    sessionId: id,
    sessionName: "second",
    exitCode: 129,
  });
  await client.remove(id);
  expect(await socket.event("session-removed")).toMatchObject({ sessionId: id });
  for (const frame of socket.of(FrameType.EVENT)) {
    const { timestamp, sessionId = "" } = JSON.parse(textOf(frame.payload));
    expect(new Date(timestamp).toISOString()).toBe(timestamp);
    expect(frame.sessionId).toBe(sessionId);
  }
  socket.send(FrameType.UNSUBSCRIBE);
  await socket.settled();
  const count = socket.of(FrameType.EVENT).length;
  await client.create({ command: ["true"] });
  for (const listening of [socket, deaf]) await listening.settled();
  expect(socket.of(FrameType.EVENT).length).toBe(count);
  expect(deaf.of(FrameType.EVENT)).toEqual([]);
});

test("a session that is removed is told to its viewers, and its id is free for another", async () => {
  const client = server.client();
  await client.create({ id: "again", command: ["echo", "old"] });
  await using socket = await RawSocket.open(server.url);
  socket.subscribe("again", { flags: Stdout | Offsets });
  await socket.event("exit");
  await client.remove("again");
  expect(await socket.errorCode()).toBe("session_not_found");
  await client.create({ id: "again", command: ["echo", "new"] });
  socket.subscribe("again", { flags: Stdout | Offsets, from: 0 });
  await socket.shows(/new\r\n/);
  expect(textOf(socket.output())).toBe("old\r\nnew\r\n");
});
