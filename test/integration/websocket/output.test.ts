// Contract 1.4: output by offset, for clients with the flag Offsets.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { decodeOutput, FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSubscribe, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { decodeResync } from "../../../src/protocol/frame/resync.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { TestServer } from "../harness/test-server.ts";

const { Stdout, Events, Offsets } = SubscribeFlag;
const MIB = 1024 * 1024;

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** Prints `lines` numbers, says so, and waits for a line. */
async function counter(lines: number): Promise<string> {
  const script = `stty -echo; seq 1 ${lines}; echo done; read line; echo "$line"`;
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  return id;
}

async function wholeOutput(id: string): Promise<Uint8Array> {
  return server.client().bytes(endpoints.sessionOutput, { params: { id }, query: { from: 0 } });
}

/** Every OUTPUT begins where the previous one ended. */
function expectContiguous(socket: RawSocket, from: number): void {
  let next = from;
  for (const { payload } of socket.of(FrameType.OUTPUT)) {
    const { offset, bytes } = decodeOutput(payload);
    expect(offset).toBe(next);
    expect(bytes.length).toBeGreaterThan(0);
    next += bytes.length;
  }
}

test("SUBSCRIBED comes before the history, names its start, and is sent only to clients with Offsets", async () => {
  const id = await counter(1_000);
  await using socket = await RawSocket.open(server.url);
  socket.subscribe(id, { flags: Stdout | Events | Offsets });
  await socket.shows(/done/);
  const ofSession = socket.frames.filter(({ sessionId }) => sessionId === id);
  expect(ofSession[0]?.type).toBe(FrameType.SUBSCRIBED);
  const subscribed = { flags: 13, offset: 0, cols: 80, rows: 24, status: "running" };
  expect(socket.jsons(FrameType.SUBSCRIBED)).toEqual([subscribed]);
  await using old = await RawSocket.open(server.url);
  old.subscribe(id, { flags: Stdout | Events });
  await old.shows(/done/);
  expect(old.of(FrameType.SUBSCRIBED)).toEqual([]);
  socket.subscribe(id, { flags: Offsets });
  await socket.settled();
  expect(socket.jsons(FrameType.SUBSCRIBED)[1]).toEqual({
    ...subscribed,
    flags: 8,
    offset: socket.output().length,
  });
});

test("output is contiguous and exact from any byte on: past, window and live", async () => {
  const id = await counter(200_000);
  await using first = await RawSocket.open(server.url);
  first.subscribe(id, { flags: Stdout | Offsets });
  await first.shows(/done\r\n$/);
  const { length } = first.output();
  const frameStart = decodeOutput(first.of(FrameType.OUTPUT)[3]?.payload ?? new Uint8Array(8)).offset;
  const random = Array.from({ length: 8 }, () => Math.floor(Math.random() * length));
  const offsets = [0, 1, frameStart - 1, frameStart, frameStart + 1, length - 1, length, ...random];
  const viewers = await Promise.all(
    offsets.map(async (from) => {
      const socket = await RawSocket.open(server.url);
      socket.subscribe(id, { flags: Stdout | Offsets, from });
      await socket.bytes(length - from);
      return { socket, from };
    }),
  );
  first.type(id, "the end\n");
  const all = [...viewers, { socket: first, from: 0 }];
  for (const { socket } of all) await socket.event("exit");
  const source = await wholeOutput(id);
  expect(textOf(source.subarray(-9))).toBe("the end\r\n");
  for (const { socket, from } of all) {
    expectContiguous(socket, from);
    expect(socket.jsons(FrameType.SUBSCRIBED)[0]?.offset).toBe(from);
    expect(Buffer.compare(socket.output(), source.subarray(from))).toBe(0);
    await socket[Symbol.asyncDispose]();
  }
});

test("from beyond the end it goes on at the end, and from 2^64-1 there is no history", async () => {
  const id = await counter(10);
  await using first = await RawSocket.open(server.url);
  first.subscribe(id, { flags: Stdout | Offsets });
  await first.shows(/done\r\n$/);
  const { length } = first.output();
  const viewers = await Promise.all(
    ([length + 1, Number.MAX_SAFE_INTEGER, "live"] as const).map(async (from) => {
      const socket = await RawSocket.open(server.url);
      socket.subscribe(id, { flags: Stdout | Offsets, from });
      await socket.settled();
      return socket;
    }),
  );
  first.type(id, "later\n");
  for (const socket of viewers) {
    await socket.event("exit");
    expect(socket.jsons(FrameType.SUBSCRIBED)[0]?.offset).toBe(length);
    expect(textOf(socket.output())).toBe("later\r\n");
    expectContiguous(socket, length);
    await socket[Symbol.asyncDispose]();
  }
});

test("without the flag Offsets what follows the 12 bytes of SUBSCRIBE is ignored", async () => {
  const id = await counter(3);
  await using socket = await RawSocket.open(server.url);
  const payload = new Uint8Array(24).fill(255);
  payload.set(encodeSubscribe({ flags: Stdout }));
  socket.send(FrameType.SUBSCRIBE, id, payload);
  await socket.shows(/done\r\n$/);
  expect(textOf(socket.output())).toBe("1\r\n2\r\n3\r\ndone\r\n");
});

test("a second SUBSCRIBE repeats no output, and with an offset begins there again", async () => {
  const id = await counter(5_000);
  await using socket = await RawSocket.open(server.url);
  await using other = await RawSocket.open(server.url);
  for (const client of [socket, other]) {
    client.subscribe(id, { flags: Stdout | Offsets });
    await client.shows(/done\r\n$/);
  }
  const { length } = other.output();
  for (const flags of [15, 13, 9, 12, 9]) socket.subscribe(id, { flags });
  await socket.settled();
  expect(socket.output().length).toBe(length);
  socket.subscribe(id, { flags: Stdout | Offsets, from: 10 });
  await socket.bytes(2 * length - 10);
  socket.type(id, "end\n");
  await socket.event("exit");
  await other.event("exit");
  expect(other.output().length).toBe(length + 5);
  expect(socket.output().length).toBe(2 * length - 10 + 5);
  expect(Buffer.compare(socket.output().subarray(length), other.output().subarray(10))).toBe(0);
});

test("fifty viewers get the same bytes, whenever they came", async () => {
  // Less than 4 MiB: nobody can be so far behind that the screen replaces output.
  const script = "stty -echo; for i in $(seq 32); do seq 1 20000; done";
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  const viewers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const socket = await RawSocket.open(server.url, { magic: index % 2 === 0 ? "VT" : "TV" });
      socket.subscribe(id, { flags: Stdout | Offsets, from: 0 });
      await socket.event("exit");
      return socket;
    }),
  );
  const source = await wholeOutput(id);
  expect(source.length).toBe(32 * (20_000 * 2 + 88_894));
  for (const socket of viewers) {
    expectContiguous(socket, 0);
    expect(Buffer.compare(socket.output(), source)).toBe(0);
    expect(socket.of(FrameType.RESYNC)).toEqual([]);
    await socket[Symbol.asyncDispose]();
  }
});

test("output that is no longer held is replaced by RESYNC, and continues from its offset", async () => {
  const args = [
    "--no-auth",
    "--rate-limit-api",
    "0",
    "--rate-limit-sessions",
    "0",
    "--max-recording-size",
    "100KB",
  ];
  await using small = await TestServer.start({ args });
  const client = small.client();
  const script = "stty -echo; seq 1 1200000; printf '\\033[31mlast'; read line; echo $line";
  const { id } = await client.create({ command: ["sh", "-c", script] });
  await using first = await RawSocket.open(small.url);
  first.subscribe(id, { flags: Stdout | Offsets, from: "live" });
  // On the screen: a viewer that is slow for a moment gets the screen instead of the output's end.
  await eventually(
    async () => (await client.screen(id)).includes("last") || undefined,
    "the end of the output",
  );
  const { outputBytes } = await client.get(id);
  expect(outputBytes).toBeGreaterThan(5 * MIB);
  await using socket = await RawSocket.open(small.url);
  socket.subscribe(id, { flags: Stdout | Offsets, from: 0 });
  const { payload } = await socket.frame(FrameType.RESYNC);
  const { offset, size, bytes } = decodeResync(payload);
  expect([offset, size]).toEqual([outputBytes, { cols: 80, rows: 24 }]);
  expect(textOf(bytes)).toContain("1200000");
  first.type(id, "more\n");
  await socket.event("exit");
  const after = socket.of(FrameType.OUTPUT).map(({ payload: output }) => decodeOutput(output));
  expect(
    after
      .filter((output) => output.offset >= offset)
      .map((output) => textOf(output.bytes))
      .join(""),
  ).toBe("more\r\n");
  expect(after.every((output) => output.offset < 100_000 || output.offset >= offset)).toBe(true);
});
