import { describe, expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import type { ServerEvent } from "../../../../src/protocol/frame/event.ts";
import { encodeFrame, FrameType } from "../../../../src/protocol/frame/frame.ts";
import { decodeSubscribe, encodeJson } from "../../../../src/protocol/frame/payload.ts";
import { until } from "../../until.ts";
import { bytesOf, collect, connect } from "../memory-client.ts";
import { MemoryServer } from "../memory-server.ts";

describe("subscriptions", () => {
  test("always ask for offsets, and name the client first", async () => {
    const server = new MemoryServer();
    server.create("a");
    using socket = connect(server);
    socket.attach("a", { from: 0 }, collect().handlers);
    await until(() => server.links.length === 1 && server.link.received.length === 2);
    const [hello, subscribe] = server.link.received;
    expect(hello?.type).toBe(FrameType.HELLO);
    expect(decodeSubscribe(subscribe?.payload ?? new Uint8Array())).toMatchObject({ flags: 13, from: 0 });
  });

  test("begin although the server sends WELCOME in both byte orders", async () => {
    const server = new MemoryServer();
    server.create("a", bytesOf("x"));
    using socket = connect(server);
    await socket.opened(1_000);
    const payload = encodeJson({ ok: true, version: 3 });
    for (const magic of ["VT", "TV"] as const)
      server.link.handlers.onMessage(encodeFrame(FrameType.WELCOME, "", payload, magic));
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    await until(() => seen.bytes.length === 1);
    expect(server.links).toHaveLength(1);
    expect(seen.errors).toEqual([]);
  });

  test("of an ended session are not renewed", async () => {
    const server = new MemoryServer();
    server.create("a").exitCode = 3;
    using socket = connect(server);
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    await until(() => seen.events.length === 1);
    server.link.cut();
    await socket.opened(1_000);
    expect(server.link.received.map(({ type }) => type)).toEqual([FrameType.HELLO]);
  });

  test("of an unknown session are refused once", async () => {
    const server = new MemoryServer();
    using socket = connect(server);
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    await until(() => seen.errors.length === 1);
    expect(seen.errors[0]).toMatchObject({ code: "session_not_found" });
    server.create("a", bytesOf("x"));
    server.link.cut();
    await socket.opened(1_000);
    expect(server.link.received.some(({ type }) => type === FrameType.SUBSCRIBE)).toBe(false);
  });

  test("that are temporarily refused are retried on the same link", async () => {
    const server = new MemoryServer();
    server.isManual = true;
    server.create("a", bytesOf("x"));
    using socket = connect(server);
    await socket.opened(1_000);
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    server.link.outgoing.length = 0;
    server.send(FrameType.ERROR, "a", encodeJson({ message: "not now", code: "host_unreachable" }));
    server.isManual = false;
    server.link.deliver(1);
    expect(seen.errors).toMatchObject([{ code: "host_unreachable" }]);
    await until(() => seen.bytes.length === 1);
    expect(server.links).toHaveLength(1);
  });

  test("are not refused by an earlier command that fails late: the error goes to the command", async () => {
    const server = new MemoryServer();
    server.isManual = true;
    server.create("a", bytesOf("x"));
    using socket = connect(server);
    await socket.opened(1_000);
    const typed = socket.write("a", bytesOf("k"));
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    server.link.outgoing.length = 0;
    const late = { message: "out of reach", code: "remote_unreachable", request: "command" };
    server.send(FrameType.ERROR, "a", encodeJson(late));
    server.link.deliver(1);
    await expect(typed).rejects.toMatchObject({ code: "remote_unreachable" });
    expect(seen.errors).toEqual([]);
  });

  test("end with their attachment, and a second one to the same session is refused", async () => {
    const server = new MemoryServer();
    const session = server.create("a");
    using socket = connect(server);
    const { seen, handlers } = collect();
    const attachment = socket.attach("a", { from: 0 }, handlers);
    expect(() => socket.attach("a", { from: 0 }, handlers)).toThrow(ServiceError);
    await until(() => seen.subscribed.length === 1);
    attachment[Symbol.dispose]();
    session.output = bytesOf("x");
    server.feed();
    expect(server.link.cursors.size).toBe(0);
    socket.attach("a", { from: 0 }, handlers);
    await until(() => seen.bytes.length === 1);
  });

  test("stay paused over a reconnect", async () => {
    const server = new MemoryServer();
    server.create("a", bytesOf("abc"));
    using socket = connect(server);
    await socket.opened(1_000);
    const { seen, handlers } = collect();
    const attachment = socket.attach("a", { from: 0 }, handlers);
    attachment.pause();
    server.link.cut();
    await socket.opened(1_000);
    expect(server.link.cursors.size).toBe(0);
    attachment.resume();
    await until(() => seen.bytes.length === 3);
  });
});

describe("server events", () => {
  test("reach every listener, again after a reconnect, and end with the last listener", async () => {
    const server = new MemoryServer();
    using socket = connect(server);
    const events: ServerEvent[] = [];
    const listening = socket.subscribeGlobal((event) => void events.push(event));
    await until(() => events.length === 1);
    const timestamp = "2026-01-01T00:00:00.000Z";
    server.send(FrameType.EVENT, "b", encodeJson({ type: "session-start", sessionId: "b", timestamp }));
    await until(() => events.length === 2);
    server.link.cut();
    await until(() => events.length === 3);
    expect(events.map(({ type }) => type)).toEqual(["connected", "session-start", "connected"]);
    listening[Symbol.dispose]();
    expect(server.link.received.at(-1)?.type).toBe(FrameType.UNSUBSCRIBE);
  });

  test("of a session go to its attachment, unknown events nowhere", async () => {
    const server = new MemoryServer();
    server.create("a");
    using socket = connect(server);
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    await until(() => seen.subscribed.length === 1);
    const resize = { kind: "resize", dimensions: "100x30", cols: 100, rows: 30 } as const;
    server.send(FrameType.EVENT, "a", encodeJson({ kind: "novelty" }));
    server.send(FrameType.EVENT, "a", encodeJson(resize));
    await until(() => seen.events.length === 1);
    expect(seen.events).toEqual([resize]);
  });
});
