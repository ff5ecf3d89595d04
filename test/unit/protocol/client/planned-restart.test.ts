// A client that gets GOAWAY leaves its link in order and opens another; its state stays planned for a while.
import { expect, test, vi } from "vitest";
import type { ConnectionState } from "../../../../src/protocol/client/connection.ts";
import type { OpenLink } from "../../../../src/protocol/client/link.ts";
import type { SessionSocket } from "../../../../src/protocol/client/session-socket.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { FrameType } from "../../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../../src/protocol/frame/payload.ts";
import { until } from "../../until.ts";
import { bytesOf, collect, connect, times } from "../memory-client.ts";
import { MemoryServer } from "../memory-server.ts";

const AT_ONCE = { afterMs: 0, jitterMs: 0, reason: "restart" };
/** No other server answers yet. */
const REFUSED = new Error("connection refused");

function statesOf(socket: SessionSocket): ConnectionState[] {
  const states: ConnectionState[] = [];
  socket.onState((state) => void states.push(state));
  return states;
}

test("after GOAWAY a client opens another link and continues at its byte, and its state is planned", async () => {
  const server = new MemoryServer();
  const session = server.create("a", bytesOf("one "));
  using socket = connect(server);
  const { seen, handlers } = collect();
  socket.attach("a", { from: 0 }, handlers);
  await until(() => seen.bytes.length === 4);
  const states = statesOf(socket);
  server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE));
  await until(() => server.links.length === 2 && socket.state.kind === "open");
  session.output = bytesOf("one two");
  server.feed();
  await until(() => seen.bytes.length === 7);
  expect(new TextDecoder().decode(new Uint8Array(seen.bytes))).toBe("one two");
  expect(states).toEqual([
    { kind: "connecting", isPlanned: true },
    { kind: "connecting", isPlanned: true },
    { kind: "open" },
  ]);
  expect(server.links.map(({ isOpen }) => isOpen)).toEqual([false, true]);
});

/** A client on its first link that attempts the next one, which answers when `answer` is called. */
async function slowToAnswer() {
  const server = new MemoryServer();
  const session = server.create("a", bytesOf("one "));
  const gate = Promise.withResolvers<void>();
  let attempts = 0;
  const open: OpenLink = async (handlers, signal) => {
    attempts += 1;
    if (attempts > 1) await gate.promise;
    return await server.open(handlers, signal);
  };
  const socket = connect(server, { open });
  const { seen, handlers } = collect();
  socket.attach("a", { from: 0 }, handlers);
  await until(() => seen.bytes.length === 4);
  const [first] = server.links;
  if (first === undefined) throw new Error("there is no link");
  server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE));
  await until(() => attempts === 2);
  const shows = async (text: string): Promise<void> => {
    session.output = bytesOf(text);
    server.feed();
    await until(() => seen.bytes.length === text.length);
    expect(new TextDecoder().decode(new Uint8Array(seen.bytes))).toBe(text);
  };
  return { server, socket, input: session.input, shows, first, answer: gate.resolve };
}

test("until the next server answers the link that is left is used as before", async () => {
  const { server, socket, input, shows, first, answer } = await slowToAnswer();
  using _ = socket;
  const states = statesOf(socket);
  await socket.write("a", bytesOf("typed"));
  await shows("one two ");
  expect({ input, states }).toEqual({ input: [bytesOf("typed")], states: [] });
  answer();
  await until(() => !first.isOpen && socket.state.kind === "open");
  await socket.write("a", bytesOf("again"));
  await shows("one two three");
  expect(server.link.received.filter(({ type }) => type === FrameType.INPUT_TEXT)).toHaveLength(1);
  expect(server.opens).toBe(2);
});

test("a link that is lost while the next one is attempted is replaced by that attempt", async () => {
  const { server, socket, shows, first, answer } = await slowToAnswer();
  using _ = socket;
  first.cut();
  expect(socket.state).toEqual({ kind: "connecting", isPlanned: true });
  answer();
  await shows("one two ");
  expect(server.opens).toBe(2);
});

test("a next link that is lost while the answers on the first are awaited is replaced by another", async () => {
  const { server, socket, shows, first, answer } = await slowToAnswer();
  using _ = socket;
  server.isManual = true;
  const typed = socket.write("a", bytesOf("before"));
  answer();
  await until(() => server.links.length === 2 && socket.state.kind === "connecting");
  server.link.cut();
  server.isManual = false;
  first.deliver(first.outgoing.length);
  await typed;
  await until(() => server.links.length === 3 && socket.state.kind === "open");
  await shows("one two ");
});

test("a client that is disposed of while its next link opens closes both", async () => {
  const { server, socket, first, answer } = await slowToAnswer();
  socket[Symbol.dispose]();
  answer();
  await until(() => server.links.length === 2 && !server.link.isOpen);
  expect([first.isOpen, server.link.isOpen]).toEqual([false, false]);
});

test("a client that leaves its link awaits the answers to earlier input, and refuses further input", async () => {
  const server = new MemoryServer();
  const { input } = server.create("a");
  using socket = connect(server);
  await socket.opened(1_000);
  server.isManual = true;
  server.refusal = REFUSED;
  const typed = socket.write("a", bytesOf("before"));
  server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE));
  server.link.deliver(1);
  await until(() => socket.state.kind === "connecting");
  await expect(socket.write("a", bytesOf("while"))).rejects.toMatchObject({ code: "host_unreachable" });
  expect(server.links).toHaveLength(1);
  server.isManual = false;
  server.refusal = undefined;
  server.link.deliver(server.link.outgoing.length);
  await typed;
  await until(() => server.links.length === 2 && socket.state.kind === "open");
  await socket.write("a", bytesOf("after"));
  expect(input.map((bytes) => new TextDecoder().decode(bytes))).toEqual(["before", "after"]);
});

test("a silent server is awaited no longer while its link is left than after a PING on a wake-up", async () => {
  const server = new MemoryServer();
  server.create("a");
  using socket = connect(server, { times: { ...times, probeMs: 1 } });
  await socket.opened(1_000);
  server.isManual = true;
  server.refusal = REFUSED;
  const typed = socket.write("a", bytesOf("before"));
  server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE));
  server.link.deliver(1);
  await expect(typed).rejects.toMatchObject({ message: expect.stringContaining("may not have arrived") });
  server.isManual = false;
  server.refusal = undefined;
  await until(() => server.links.length === 2 && socket.state.kind === "open");
});

test("a server that still sends messages while its link is left is awaited", async () => {
  const server = new MemoryServer();
  const session = server.create("a");
  using socket = connect(server);
  socket.attach("a", { from: 0 }, collect().handlers);
  await socket.opened(1_000);
  vi.useFakeTimers();
  using stack = new DisposableStack();
  stack.defer(() => vi.useRealTimers());
  server.isManual = true;
  server.refusal = REFUSED;
  const typed = socket.write("a", bytesOf("before"));
  server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE));
  server.link.deliver(1);
  await vi.advanceTimersByTimeAsync(10);
  expect(socket.state.kind).toBe("connecting");
  // The answer stands behind output, which comes slowly.
  const answers = server.link.outgoing.splice(0);
  for (let round = 1; round < 5; round += 1) {
    await vi.advanceTimersByTimeAsync(times.probeMs - 100);
    session.output = new Uint8Array(round);
    server.feed();
    server.link.deliver(1);
  }
  server.link.outgoing.push(...answers);
  server.link.deliver(answers.length);
  await expect(typed).resolves.toBeUndefined();
});

test("during an announced restart attempts are frequent and the state stays planned, also if the server closes early", async () => {
  vi.useFakeTimers();
  using stack = new DisposableStack();
  stack.defer(() => vi.useRealTimers());
  const server = new MemoryServer();
  const socket = stack.use(connect(server, { random: () => 0 }));
  await socket.opened(1_000);
  const states = statesOf(socket);
  server.send(FrameType.GOAWAY, "", encodeJson({ afterMs: 60_000, jitterMs: 0, reason: "restart" }));
  await vi.advanceTimersByTimeAsync(0);
  server.refusal = REFUSED;
  server.link.cut();
  await vi.advanceTimersByTimeAsync(500);
  expect(states.filter(({ kind }) => kind === "waiting").length).toBeGreaterThanOrEqual(3);
  server.refusal = undefined;
  await vi.advanceTimersByTimeAsync(500);
  expect(socket.state).toEqual({ kind: "open" });
  const notOpen = states.filter(({ kind }) => kind !== "open");
  expect(notOpen.length).toBeGreaterThan(4);
  expect(notOpen.every((state) => "isPlanned" in state && state.isPlanned)).toBe(true);
});

test("a machine that does not answer delays the next link little, with and without an announced restart", async () => {
  const server = new MemoryServer();
  let unanswered = 0;
  const open: OpenLink = async (handlers, signal) => {
    if (unanswered === 0) return await server.open(handlers, signal);
    unanswered -= 1;
    return await new Promise<never>(() => undefined);
  };
  using socket = connect(server, { open, times: { ...times, hedgeMs: 1 } });
  const quietPeriod = async (leave: () => void): Promise<void> => {
    await socket.opened(1_000);
    unanswered = 2;
    leave();
    await until(() => unanswered === 0);
    await socket.opened(1_000);
  };
  await quietPeriod(() => server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE)));
  await quietPeriod(() => server.link.cut());
});

test("a refusal after the restart is reported once", async () => {
  const server = new MemoryServer();
  using socket = connect(server);
  await socket.opened(1_000);
  const states = statesOf(socket);
  server.refusal = new ServiceError("unauthorized", "log in again");
  server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE));
  await until(() => socket.state.kind === "closed");
  expect(states.map(({ kind }) => kind)).toEqual(["connecting", "connecting", "closed"]);
  expect(states.at(-1)).toMatchObject({ error: { code: "unauthorized" } });
});

test("an unannounced loss of the link is not planned", async () => {
  const server = new MemoryServer();
  using socket = connect(server);
  await socket.opened(1_000);
  const states = statesOf(socket);
  server.link.cut();
  await socket.opened(1_000);
  expect(states.some((state) => "isPlanned" in state)).toBe(false);
});

test("a restart is planned for 2 s, which is reported at their end, and awaited for a minute; only then do the pauses grow", async () => {
  vi.useFakeTimers();
  using stack = new DisposableStack();
  stack.defer(() => vi.useRealTimers());
  const server = new MemoryServer();
  const pauses = { quickMs: 1, firstMs: 10, maxMs: 15_000 };
  const socket = stack.use(connect(server, { times: { ...times, ...pauses }, random: () => 0 }));
  await socket.opened(1_000);
  server.refusal = REFUSED;
  const planned: boolean[] = [];
  const waits: number[] = [];
  socket.onState((state) => {
    planned.push("isPlanned" in state);
    if (state.kind === "waiting") waits.push(state.until - Date.now());
  });
  server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE));
  server.send(FrameType.GOAWAY, "", encodeJson({ ...AT_ONCE, afterMs: 1_000 }));
  await vi.advanceTimersByTimeAsync(1_999);
  expect(planned.every(Boolean)).toBe(true);
  expect(waits.splice(0)).toEqual([1, ...Array(10).fill(200)]);
  await vi.advanceTimersByTimeAsync(1);
  expect(planned).toContain(false);
  waits.length = 0;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(waits.slice(-8)).toEqual([10, 20, 40, 80, 160, 320, 640, 1_280]);
  expect(new Set(waits.slice(0, -8))).toEqual(new Set([2_000]));
  server.refusal = undefined;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(socket.state).toEqual({ kind: "open" });
});

test("a server that sends GOAWAY on every new link is not asked again without a pause", async () => {
  const server = new MemoryServer();
  using socket = connect(server, { times: { ...times, stableMs: 60_000 } });
  let pauses = 0;
  socket.onState(({ kind }) => {
    if (kind === "open") server.send(FrameType.GOAWAY, "", encodeJson(AT_ONCE));
    if (kind === "waiting") pauses += 1;
  });
  await until(() => server.opens === 4);
  expect(pauses).toBe(3);
});
