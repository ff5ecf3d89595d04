import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeFrame, encodeOutputFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../src/protocol/frame/payload.ts";
import { until } from "../until.ts";
import { bytesOf, collect, connect, randomBytes } from "./memory-client.ts";
import { MemoryServer } from "./memory-server.ts";

describe("output", () => {
  test("comes once and in order through any cuts, overlaps and pauses", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("append"), size: fc.integer({ min: 1, max: 300 }) }),
      fc.record({ kind: fc.constant("deliver"), size: fc.integer({ min: 1, max: 6 }) }),
      fc.record({ kind: fc.constant("cut"), size: fc.integer({ min: 0, max: 100 }) }),
      fc.record({ kind: fc.constant("pause"), size: fc.integer({ min: 0, max: 3 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 0, max: 500 }),
        fc.boolean(),
        async (steps, from, isDropping) => {
          const server = new MemoryServer();
          server.isManual = true;
          server.isDropping = isDropping;
          const session = server.create("a", randomBytes(500));
          using socket = connect(server);
          await socket.opened(1_000);
          const { seen, handlers } = collect();
          using attachment = socket.attach("a", { from }, handlers);
          for (const { kind, size } of steps) {
            if (kind === "append") {
              session.output = Uint8Array.from([...session.output, ...randomBytes(size)]);
              server.feed();
            } else if (kind === "deliver") {
              server.link.deliver(size);
            } else if (kind === "pause") {
              attachment.pause();
              server.link.deliver(size);
              attachment.resume();
              if (size > 1) await new Promise((resolve) => setImmediate(resolve));
            } else {
              server.overlap = size;
              server.link.cut();
              await socket.opened(1_000);
            }
          }
          session.exitCode = 0;
          server.feed();
          await until(() => {
            server.link.deliver(1_000);
            return seen.events.length > 0;
          });
          expect(seen.bytes).toEqual(session.output.subarray(from));
          expect(attachment.next).toBe(session.output.length);
          expect(seen.events).toEqual([{ kind: "exit", type: "session-exit", sessionId: "a", exitCode: 0 }]);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("that exceeds the largest offset ends the link alone, and the next one resumes", async () => {
    const server = new MemoryServer();
    server.create("a", bytesOf(""));
    using socket = connect(server);
    const { seen, handlers } = collect();
    using attachment = socket.attach("a", { from: Number.MAX_SAFE_INTEGER }, handlers);
    await until(() => seen.subscribed.length === 1);
    const output = encodeOutputFrame("a", Number.MAX_SAFE_INTEGER, bytesOf("beyond"));
    server.send(FrameType.OUTPUT, "a", decodeFrame(output).payload);
    server.link.deliver(1);
    server.link.cut();
    await until(() => seen.subscribed.length === 2);
    expect(attachment.next).toBe(Number.MAX_SAFE_INTEGER);
    expect(seen.bytes.length).toBe(0);
  });

  test("goes on over another link after an event that is nested too deep to be passed on", async () => {
    const server = new MemoryServer();
    const session = server.create("a", bytesOf("one "));
    using socket = connect(server);
    using _ = socket.subscribeGlobal((event) => void encodeJson(event));
    const { seen, handlers } = collect();
    using attachment = socket.attach("a", { from: 0 }, handlers);
    await until(() => seen.bytes.length === 4);
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    server.send(FrameType.EVENT, "", bytesOf(`{"type":"bell","timestamp":"now","more":${deep}}`));
    await until(() => server.links.length === 2);
    session.output = bytesOf("one two");
    server.feed();
    await until(() => seen.bytes.length === 7);
    expect(attachment.next).toBe(7);
  });

  test("that is not held any more is skipped by RESYNC, and a reconnect continues after it", async () => {
    const server = new MemoryServer();
    const session = server.create("a", bytesOf("0123456789"));
    session.held = 6;
    using socket = connect(server);
    const { seen, handlers } = collect();
    socket.attach("a", { from: 2 }, handlers);
    await until(() => seen.bytes.length === 4);
    server.link.cut();
    session.output = bytesOf("0123456789abc");
    await until(() => seen.bytes.length === 7);
    expect(seen.resyncs).toEqual([6]);
    expect(new TextDecoder().decode(seen.bytes)).toBe("6789abc");
  });

  test("from the live end begins at the server's offset and resumes from there", async () => {
    const server = new MemoryServer();
    const session = server.create("a", bytesOf("past"));
    using socket = connect(server);
    const { seen, handlers } = collect();
    const attachment = socket.attach("a", { from: "live" }, handlers);
    expect(attachment.next).toBe("live");
    await until(() => attachment.next === 4);
    server.link.cut();
    session.output = bytesOf("past present");
    await until(() => seen.bytes.length === 8);
    expect(new TextDecoder().decode(seen.bytes)).toBe(" present");
    expect(seen.subscribed.map(({ offset }) => offset)).toEqual([4, 4]);
  });

  test("with missing bytes before it ends the link, and arrives whole over the next", async () => {
    const server = new MemoryServer();
    const session = server.create("a", bytesOf("abc"));
    using socket = connect(server);
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    await until(() => seen.bytes.length === 3);
    session.output = bytesOf("abcdefgh");
    server.link.outgoing.push(encodeOutputFrame("a", 6, bytesOf("gh")));
    server.link.deliver(1);
    expect(socket.state.kind).toBe("waiting");
    await until(() => seen.bytes.length === 8);
    expect(new TextDecoder().decode(seen.bytes)).toBe("abcdefgh");
  });

  test("of an earlier subscription is not mistaken for that of a later one", async () => {
    const server = new MemoryServer();
    server.isManual = true;
    server.create("a", bytesOf("0123456789"));
    using socket = connect(server);
    await socket.opened(1_000);
    const first = collect();
    socket.attach("a", { from: 5 }, first.handlers)[Symbol.dispose]();
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    await until(() => {
      server.link.deliver(100);
      return seen.bytes.length === 10;
    });
    expect(first.seen.bytes.length).toBe(0);
    expect(new TextDecoder().decode(seen.bytes)).toBe("0123456789");
  });

  test("in the other magic order is passed on in ours", async () => {
    const server = new MemoryServer();
    server.create("a");
    using socket = connect(server);
    const { seen, handlers } = collect();
    socket.attach("a", { from: 0 }, handlers);
    await until(() => seen.subscribed.length === 1);
    const message = encodeOutputFrame("a", 0, bytesOf("x"));
    message.set([0x54, 0x56]);
    server.link.handlers.onMessage(Uint8Array.from([...message, 0, 0]));
    expect(seen.bytes).toEqual(bytesOf("x"));
  });
});
