import { expect, test } from "vitest";
import type { AttachmentHandlers } from "../../../../src/protocol/client/attachment.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { FULL_BYTES, ROOM_BYTES } from "../../../../src/web/terminal/output-queue.ts";
import { SessionStream } from "../../../../src/web/terminal/session-stream.ts";

const RESET = Uint8Array.of(0x1b, 0x63);

/** An emulator that parses when it is told to. */
class SlowEmulator {
  readonly resetBytes = RESET;
  readonly resize = (): void => undefined;
  readonly #waiting: (() => void)[] = [];

  readonly write = (_bytes: Uint8Array, parsed: () => void): void => void this.#waiting.push(parsed);

  parseAll(check: () => void = () => undefined): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      check();
      next();
    }
  }
}

/** The attachments in their order, with the bytes of the last one. */
class FakeSocket {
  readonly states: ("paused" | "flowing" | "over")[] = [];
  #handlers: AttachmentHandlers | undefined;

  readonly attach = (
    sessionId: string,
    { from }: { from: number | "live" },
    handlers: AttachmentHandlers,
  ) => {
    const mine = this.states.push("flowing") - 1;
    this.#handlers = handlers;
    const become = (state: "paused" | "flowing" | "over") => () => {
      this.states[mine] = state;
    };
    const [pause, resume] = [become("paused"), become("flowing")];
    return { sessionId, next: from, pause, resume, request: () => {}, [Symbol.dispose]: become("over") };
  };

  output(offset: number, bytes: number): void {
    this.#handlers?.onOutput({
      ...{ kind: "output", offset, bytes: new Uint8Array(bytes), frame: new Uint8Array() },
    });
  }

  resync(offset: number): void {
    this.#handlers?.onResync({ offset, size: { cols: 80, rows: 24 }, bytes: new Uint8Array() });
  }
}

/** A stream of a session whose screen, at byte 100, is of so many bytes. */
function streamOf(screenBytes: number, written = async (): Promise<number> => 100) {
  const [emulator, socket] = [new SlowEmulator(), new FakeSocket()];
  const stream = new SessionStream({
    id: "s",
    emulator,
    socket,
    written,
    screen: async () => ({ offset: 100, size: { cols: 80, rows: 24 }, bytes: new Uint8Array(screenBytes) }),
    isShown: () => true,
    onAlive: () => undefined,
    onSize: () => undefined,
    onSubscribed: () => undefined,
    onEvent: () => undefined,
    onViewers: () => undefined,
    onError: () => undefined,
  });
  return { stream, emulator, socket, [Symbol.dispose]: () => stream[Symbol.dispose]() };
}

/** Parses all that waits: whether each part was of the present. */
function liveParts({ emulator, stream }: ReturnType<typeof streamOf>): readonly boolean[] {
  const seen: boolean[] = [];
  emulator.parseAll(() => void seen.push(stream.isParsingLive));
  return seen;
}

test("queries in a skipped-to screen are suppressed as well, until it is drawn", async () => {
  using it = streamOf(2 * ROOM_BYTES);
  await it.stream.begin();
  it.socket.output(100, FULL_BYTES);
  expect(it.socket.states).toEqual(["paused"]);
  await it.stream.begin();
  expect(it.socket.states).toEqual(["over", "paused"]);
  it.emulator.parseAll();
  expect(it.socket.states).toEqual(["over", "flowing"]);
  it.socket.output(100, FULL_BYTES + 1);
  expect(it.socket.states).toEqual(["over", "paused"]);
});

test("a screen slightly ahead of the parsed output is not drawn, and one far ahead is", async () => {
  for (const [unparsed, states] of [
    [0, ["flowing"]],
    [FULL_BYTES, ["over", "flowing"]],
  ] as const) {
    using it = streamOf(0, async () => Number.MAX_SAFE_INTEGER);
    await it.stream.begin();
    it.emulator.parseAll();
    it.socket.output(100, FULL_BYTES);
    if (unparsed === 0) it.emulator.parseAll();
    it.stream.typed();
    await new Promise(setImmediate);
    expect(it.socket.states).toEqual(states);
  }
});

test("output counts as earlier output until the live edge is known", async () => {
  const answered = Promise.withResolvers<void>();
  let isThere = false;
  using it = streamOf(0, async () => {
    if (!isThere) throw new ServiceError("session_not_found", "no session s");
    answered.resolve();
    return 102;
  });
  await it.stream.begin();
  liveParts(it);
  it.socket.output(100, 1);
  expect(liveParts(it)).toEqual([true]);
  it.stream.cut();
  it.stream.findPresent();
  it.socket.output(101, 1);
  expect(liveParts(it)).toEqual([false]);
  isThere = true;
  it.stream.findPresent();
  await answered.promise;
  await new Promise(setImmediate);
  it.socket.output(102, 1);
  expect(liveParts(it)).toEqual([true]);
});

test("output is live from a screen that replaces output, regardless of answers to earlier requests", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  using it = streamOf(0, () => promise);
  await it.stream.begin();
  it.stream.cut();
  it.stream.findPresent();
  it.socket.resync(200);
  liveParts(it);
  it.socket.output(200, 1);
  resolve(300);
  await new Promise(setImmediate);
  expect(liveParts(it)).toEqual([true]);
});
