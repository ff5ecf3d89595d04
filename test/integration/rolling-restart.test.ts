// Restarts of a server under output: nothing is lost or repeated, and no viewer sees an error.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import type { ConnectionState } from "../../src/protocol/client/connection.ts";
import type { SessionSocket } from "../../src/protocol/client/session-socket.ts";
import { ServiceError } from "../../src/protocol/errors.ts";
import { decodeOutput, FrameType } from "../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../src/protocol/frame/payload.ts";
import { Follower } from "./harness/follower.ts";
import { HashingViewer } from "./harness/hashing-viewer.ts";
import { PacedProgram } from "./harness/paced-program.ts";
import { RawSocket } from "./harness/raw-socket.ts";
import { scaled } from "./harness/scale.ts";
import { TestFleet } from "./harness/test-fleet.ts";
import { TestServer } from "./harness/test-server.ts";

/** At least twice the output during the restarts: 100 bytes a line. */
const LINES = scaled(1_000_000);
const BYTES_PER_SECOND = 4_000_000;
const STEP_BYTES = 2_000_000;
const END_TIMEOUT_MS = 120_000;
const VIEWERS = 6;

function viewersOf(program: PacedProgram, url: string, id: string) {
  const viewers = Array.from({ length: VIEWERS }, () => new HashingViewer(url, id));
  program.waitFor(viewers);
  const ends = Promise.all(viewers.map((viewer) => viewer.ended));
  ends.catch(() => undefined);
  return {
    /** Resolves when each viewer has received that many more bytes. */
    advanced: (bytes: number) => Promise.all(viewers.map((viewer) => viewer.reached(viewer.next + bytes))),
    ended: () => withDeadline(ends, END_TIMEOUT_MS, "the end of the stream"),
    [Symbol.dispose]: () => viewers.forEach((viewer) => void viewer[Symbol.dispose]()),
  };
}

async function restarted(server: TestServer): Promise<void> {
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  await server.restart();
}

test("five restarts under output: each of six viewers has every byte once, and one that does not read holds up nothing", {
  timeout: 240_000,
}, async () => {
  await using program = await PacedProgram.prepare(LINES, BYTES_PER_SECOND);
  await using server = await TestServer.start({ asProcess: true });
  const { id } = await server.client().create({ command: program.command });
  using viewers = viewersOf(program, server.url, id);
  await using stalled = await stalledViewer(server, id);
  for (let restart = 1; restart <= 5; restart += 1) {
    await viewers.advanced(STEP_BYTES);
    await restarted(server);
  }
  const { expected } = program;
  expect(await viewers.ended()).toEqual(Array(VIEWERS).fill(expected));
  // Its output before the cut and its requested output after it form the same stream.
  const hash = createHash("sha256");
  let next = 0;
  const take = (socket: RawSocket): void => {
    for (const { payload } of socket.of(FrameType.OUTPUT)) {
      const output = decodeOutput(payload);
      expect(output.offset).toBe(next);
      next += output.bytes.length;
      hash.update(output.bytes);
    }
  };
  stalled.resume();
  await stalled.closed();
  take(stalled);
  await using again = await RawSocket.open(server.url);
  again.subscribe(id, { flags: 13, from: next });
  await again.event("exit");
  take(again);
  expect([next, hash.digest("hex")]).toEqual([expected.bytes, expected.sha256]);
});

test("restarts of the HQ and of the remote under output: viewers at the HQ have every byte once", {
  timeout: 240_000,
}, async () => {
  await using program = await PacedProgram.prepare(LINES, BYTES_PER_SECOND);
  await using fleet = await TestFleet.start({ asProcess: true });
  const { id } = await fleet.create("worker-1", { command: program.command });
  using viewers = viewersOf(program, fleet.hq.url, id);
  const parts = [fleet.hq, fleet.remote("worker-1"), fleet.hq, fleet.remote("worker-1")];
  for (const part of parts) {
    // A just started HQ does not know a session on a leaving machine: viewers return first.
    await viewers.advanced(STEP_BYTES);
    await restarted(part);
  }
  expect(await viewers.ended()).toEqual(Array(VIEWERS).fill(program.expected));
});

test("somebody who types through restarts loses no key, sees none twice, and knows of each whether it arrived", {
  timeout: 240_000,
}, async () => {
  await using server = await TestServer.start({ asProcess: true });
  const { id } = await server.client().create({ command: ["sh", "-c", "stty -echo; echo on; exec cat"] });
  using socket = server.connect();
  using follower = Follower.attach(socket, id);
  await follower.shows(/on\r\n/);
  const unknown: string[] = [];
  let isOver = false;
  let typed = 0;
  const typing = (async () => {
    while (!isOver) {
      const error = await socket.write(id, Buffer.from(`${typed}\n`)).catch((reason: unknown) => reason);
      if (error === undefined) typed += 1;
      else if (error instanceof ServiceError && error.message.includes("no connection")) await opened(socket);
      else unknown.push(String(error));
    }
  })();
  for (let restart = 0; restart < 4; restart += 1) {
    const before = typed;
    await eventually(async () => typed > before + 50 || undefined, "the typing");
    await restarted(server);
  }
  isOver = true;
  await withDeadline(typing, END_TIMEOUT_MS, "the end of the typing");
  const all = Array.from({ length: typed }, (_, number) => `${number}\r\n`).join("");
  await eventually(async () => follower.text.length >= all.length + 4 || undefined, "the last line");
  expect(unknown).toEqual([]);
  expect(follower.text).toBe(`on\r\n${all}`);
});

test("a client that receives GOAWAY treats a short restart as planned", async () => {
  await using server = await TestServer.start({ asProcess: true });
  using socket = server.connect();
  await socket.opened(END_TIMEOUT_MS);
  // By then the server knows it from its HELLO, as one that understands GOAWAY.
  await socket.caughtUp();
  const states: ConnectionState[] = [];
  socket.onState((state) => void states.push(state));
  await restarted(server);
  await opened(socket);
  const [first] = states;
  expect(first).toEqual({ kind: "connecting", isPlanned: true });
});

function opened(socket: SessionSocket): Promise<void> {
  return socket.opened(END_TIMEOUT_MS);
}

async function stalledViewer(server: TestServer, id: string): Promise<RawSocket> {
  const socket = await RawSocket.open(server.url);
  socket.send(FrameType.HELLO, "", encodeJson({ client: "stalled", version: "0" }));
  socket.subscribe(id, { flags: 13, from: 0 });
  await socket.frame(FrameType.OUTPUT);
  socket.pause();
  return socket;
}
