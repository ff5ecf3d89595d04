import { describe, expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { FrameType } from "../../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../../src/protocol/frame/payload.ts";
import { bytesOf, connect } from "../memory-client.ts";
import { MemoryServer } from "../memory-server.ts";

describe("commands", () => {
  test("of one turn are acknowledged by one PING", async () => {
    const server = new MemoryServer();
    const session = server.create("a");
    using socket = connect(server);
    await socket.opened(1_000);
    await Promise.all([
      socket.write("a", bytesOf("l")),
      socket.write("a", bytesOf("s")),
      socket.kill("a", "SIGINT"),
    ]);
    expect(session.input.map((bytes) => new TextDecoder().decode(bytes))).toEqual(["l", "s"]);
    const types = server.link.received.map(({ type }) => type);
    expect(types).toEqual([
      FrameType.HELLO,
      FrameType.INPUT_TEXT,
      FrameType.INPUT_TEXT,
      FrameType.KILL,
      FrameType.PING,
    ]);
  });

  test("that the server refuses reject with its error", async () => {
    const server = new MemoryServer();
    server.create("a").exitCode = 0;
    server.create("b");
    using socket = connect(server);
    await socket.opened(1_000);
    const results = await Promise.allSettled([
      socket.write("a", bytesOf("x")),
      socket.write("b", bytesOf("x")),
      socket.write("c", bytesOf("x")),
    ]);
    expect(results).toMatchObject([
      { status: "rejected", reason: { code: "session_not_running" } },
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "session_not_found" } },
    ]);
  });

  test("an error refuses the command whose frame it names, also if others of the session were sent after it", async () => {
    const server = new MemoryServer();
    server.isManual = true;
    server.create("a");
    using socket = connect(server);
    await socket.opened(1_000);
    const written = socket.write("a", bytesOf("x"));
    const resized = socket.resize("a", { cols: 80, rows: 24 });
    const refusal = { message: "no room", code: "input_overflow", request: "command" };
    server.send(FrameType.ERROR, "a", encodeJson({ ...refusal, frame: 2 }));
    server.isManual = false;
    await expect(written).rejects.toMatchObject({ code: "input_overflow" });
    await resized;
  });

  test("an error that answers no frame refuses none", async () => {
    const server = new MemoryServer();
    server.isManual = true;
    server.create("a");
    using socket = connect(server);
    await socket.opened(1_000);
    const written = socket.write("a", bytesOf("x"));
    const removed = { message: "the session was removed", code: "session_not_found", frame: 0 };
    server.send(FrameType.ERROR, "a", encodeJson(removed));
    server.isManual = false;
    await written;
  });

  test("an error of a server that does not number its errors refuses the last of several commands to one session", async () => {
    const server = new MemoryServer();
    server.create("a");
    using socket = connect(server);
    await socket.opened(1_000);
    server.errorsForCommands = [new ServiceError("session_not_running", "it ended")];
    const results = await Promise.allSettled([
      socket.write("a", bytesOf("1")),
      socket.write("a", bytesOf("2")),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  });

  test("are refused while there is no link, and never sent later", async () => {
    const server = new MemoryServer();
    const session = server.create("a");
    using socket = connect(server);
    await expect(socket.write("a", bytesOf("x"))).rejects.toMatchObject({ code: "host_unreachable" });
    await socket.opened(1_000);
    await socket.write("a", bytesOf("y"));
    expect(session.input).toEqual([bytesOf("y")]);
  });

  test("without an answer are rejected when the link is lost", async () => {
    const server = new MemoryServer();
    server.create("a");
    using socket = connect(server);
    await socket.opened(1_000);
    server.link.isSilent = true;
    const lost = expect(socket.write("a", bytesOf("x"))).rejects.toThrow("may not have arrived");
    server.link.cut();
    await lost;
    await socket.opened(1_000);
    expect(server.link.received.some(({ type }) => type === FrameType.INPUT_TEXT)).toBe(false);
  });

  test("input that one message can carry is one frame; longer input is split between characters", async () => {
    const server = new MemoryServer();
    const session = server.create("a");
    using socket = connect(server);
    await socket.opened(1_000);
    const whole = bytesOf("x".repeat(1024 * 1024 - 13));
    await socket.write("a", whole);
    expect(session.input.splice(0).map(({ length }) => length)).toEqual([whole.length]);
    const longer = bytesOf(`${"x".repeat(whole.length - 1)}é and more`);
    await socket.write("a", longer);
    expect(session.input.map(({ length }) => length)).toEqual([whole.length - 1, 11]);
    expect(Buffer.concat(session.input).equals(Buffer.from(longer))).toBe(true);
  });

  test("are bounded in number, and an invalid size is not sent", async () => {
    const server = new MemoryServer();
    server.create("a");
    using socket = connect(server);
    await socket.opened(1_000);
    await expect(socket.resize("a", { cols: 0, rows: 24 })).rejects.toMatchObject({
      code: "invalid_request",
    });
    server.link.isSilent = true;
    const writes = Array.from({ length: 10_001 }, () => socket.write("a", bytesOf("x")));
    await expect(writes.at(-1)).rejects.toThrow("wait for an answer");
    const others = Promise.allSettled(writes.slice(0, -1));
    server.link.cut();
    expect(new Set((await others).map(({ status }) => status))).toEqual(new Set(["rejected"]));
  });
});
