import { describe, expect, test } from "vitest";
import type { ConnectionState } from "../../../../src/protocol/client/connection.ts";
import type { SessionSocket } from "../../../../src/protocol/client/session-socket.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { encodeFrame, FrameType } from "../../../../src/protocol/frame/frame.ts";
import { until } from "../../until.ts";
import { bytesOf, connect, times } from "../memory-client.ts";
import { MemoryServer } from "../memory-server.ts";

function reached(socket: SessionSocket, kind: ConnectionState["kind"]): Promise<ConnectionState> {
  return new Promise((resolve) => {
    const listening = socket.onState((state) => {
      if (state.kind !== kind) return;
      listening[Symbol.dispose]();
      resolve(state);
    });
  });
}

describe("the link", () => {
  test("is opened again with growing pauses until it opens", async () => {
    const server = new MemoryServer();
    server.refusal = new Error("connection refused");
    const pauses = { quickMs: 1, firstMs: 2, maxMs: 8 };
    using socket = connect(server, { times: { ...times, ...pauses }, now: () => 1_000, random: () => 0 });
    const waits: number[] = [];
    socket.onState((state) => void (state.kind === "waiting" && waits.push(state.until - 1_000)));
    await until(() => waits.length >= 5);
    server.refusal = undefined;
    await socket.opened(1_000);
    expect(waits.slice(0, 5)).toEqual([1, 2, 4, 8, 8]);
  });

  test("is not retried when the server refuses the login", async () => {
    const server = new MemoryServer();
    server.refusal = new ServiceError("unauthorized", "log in first");
    using socket = connect(server);
    await expect(socket.opened(1_000)).rejects.toMatchObject({ code: "unauthorized" });
    expect(socket.state).toMatchObject({ kind: "closed", error: { code: "unauthorized" } });
    expect(server.opens).toBe(1);
  });

  test.each(["request_timeout", "rate_limited"] as const)(
    "is retried when the server answers %s",
    async (code) => {
      const server = new MemoryServer();
      server.refusal = new ServiceError(code, "not now");
      using socket = connect(server);
      await until(() => server.opens >= 3);
      server.refusal = undefined;
      await socket.opened(1_000);
    },
  );

  test("that does not open in time is reported with the reason, and retried", async () => {
    const server = new MemoryServer();
    server.refusal = new Error("connection refused");
    using socket = connect(server);
    await expect(socket.opened(30)).rejects.toMatchObject({
      code: "host_unreachable",
      message: "connection refused",
    });
    server.refusal = undefined;
    await socket.opened(1_000);
  });

  test("without answers is lost after two PINGs", async () => {
    const server = new MemoryServer();
    using socket = connect(server, { times: { ...times, pingMs: 5 } });
    await socket.opened(1_000);
    const [link] = server.links;
    if (link === undefined) throw new Error("no link");
    await until(() => link.received.filter(({ type }) => type === FrameType.PING).length > 4);
    link.isSilent = true;
    const before = link.received.length;
    const waiting = await reached(socket, "waiting");
    expect(waiting).toMatchObject({ error: { message: "the server stopped answering" } });
    expect(link.received.length - before).toBe(2);
    expect(link.isOpen).toBe(false);
  });

  test("is checked at once on a wake-up", async () => {
    const server = new MemoryServer();
    using socket = connect(server, { times: { ...times, probeMs: 5 } });
    await socket.opened(1_000);
    server.link.isSilent = true;
    const waiting = reached(socket, "waiting");
    socket.wake();
    await waiting;
    const opened = reached(socket, "open");
    socket.wake();
    expect(socket.state.kind).toBe("connecting");
    await opened;
  });

  test("is not awaited by the impatient while the server is silent or refuses, but after its end", async () => {
    const server = new MemoryServer();
    using socket = connect(server, { times: { ...times, probeMs: 5, quickMs: 1_000, maxMs: 1_000 } });
    await socket.opened(1_000);
    const impatient = () => socket.opened(60_000, { isPatient: false });
    server.link.cut();
    const awaited = impatient();
    socket.wake();
    await awaited;
    server.link.isSilent = true;
    socket.wake();
    await reached(socket, "waiting");
    await expect(impatient()).rejects.toThrow("the server stopped answering");
    server.refusal = new ServiceError("host_unreachable", "connection refused");
    socket.wake();
    await expect(impatient()).rejects.toThrow("the server stopped answering");
    await reached(socket, "waiting");
    await expect(impatient()).rejects.toThrow("connection refused");
    server.refusal = undefined;
    socket.wake();
    await socket.opened(1_000);
    await impatient();
  });

  test("whose opening takes too long is abandoned, and closed if it opens nevertheless", async () => {
    const server = new MemoryServer();
    const late = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const open: typeof server.open = async (handlers, signal) => {
      if (server.opens > 0) return server.open(handlers, signal);
      server.opens += 1;
      signal.addEventListener("abort", () => aborted.resolve());
      await late.promise;
      return server.open(handlers, signal);
    };
    using socket = connect(server, { open, times: { ...times, connectMs: 5 } });
    await aborted.promise;
    await socket.opened(1_000);
    late.resolve();
    await until(() => server.links.length === 2);
    expect(server.links.map(({ isOpen }) => isOpen)).toEqual([true, false]);
  });

  test("ends on an invalid frame; unknown types are ignored", async () => {
    const server = new MemoryServer();
    using socket = connect(server);
    await socket.opened(1_000);
    server.link.handlers.onMessage(encodeFrame(99, "a", new Uint8Array(3)));
    expect(socket.state.kind).toBe("open");
    server.link.handlers.onMessage(new Uint8Array(3));
    expect(socket.state).toMatchObject({ kind: "waiting" });
  });

  test("is closed for good by dispose", async () => {
    const server = new MemoryServer();
    server.create("a");
    const socket = connect(server);
    await socket.opened(1_000);
    server.link.isSilent = true;
    const write = expect(socket.write("a", bytesOf("x"))).rejects.toMatchObject({ code: "host_unreachable" });
    socket[Symbol.dispose]();
    await write;
    expect(server.link.isOpen).toBe(false);
    expect(socket.state).toEqual({ kind: "closed" });
  });
});
