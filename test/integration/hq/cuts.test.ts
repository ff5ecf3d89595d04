// An uplink that breaks: every viewer continues at its byte, and no input of the meantime arrives later.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { HashingViewer } from "../harness/hashing-viewer.ts";
import { PacedProgram } from "../harness/paced-program.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { scaled } from "../harness/scale.ts";
import { metric, TestFleet } from "../harness/test-fleet.ts";
import type { TestServer } from "../harness/test-server.ts";

/** 100 bytes each: more than is streamed between the cuts. */
const LINES = scaled(800_000);
const BYTES_PER_SECOND = 6_000_000;
const VIEWERS = 3;
const STREAM_TIMEOUT_MS = 100_000;
const { Stdout } = SubscribeFlag;

/** Resolves when all viewers have received that many more bytes. */
async function streamed(viewers: readonly HashingViewer[], bytes: number): Promise<void> {
  const marks = viewers.map(({ next }) => next + bytes);
  await withDeadline(
    Promise.all(viewers.map((viewer, index) => viewer.reached(marks[index] ?? 0))),
    STREAM_TIMEOUT_MS,
    "the stream",
  );
}

/** Streams through the HQ while `whom` is killed and restarted, three times. */
async function streamThrough(fleet: TestFleet, whom: TestServer): Promise<void> {
  await using program = await PacedProgram.prepare(LINES, BYTES_PER_SECOND);
  const { id } = await fleet.create("worker-1", { command: program.command });
  await using stack = new AsyncDisposableStack();
  const viewers = Array.from({ length: VIEWERS }, () => stack.use(new HashingViewer(fleet.hq.url, id)));
  program.waitFor(viewers);
  for (let cut = 0; cut < 3; cut += 1) {
    await streamed(viewers, 3_000_000);
    await whom.restart();
  }
  const ends = await withDeadline(
    Promise.all(viewers.map(({ ended }) => ended)),
    STREAM_TIMEOUT_MS,
    "the end of the stream",
  );
  const { expected } = program;
  expect(ends).toEqual(viewers.map(() => expected));
}

test("the remote's server is killed three times during a stream: viewers go on at their byte", async () => {
  await using fleet = await TestFleet.start({ asProcess: true });
  await streamThrough(fleet, fleet.remote("worker-1"));
  await expect.poll(() => metric(fleet.remote("worker-1"), "ttyhq_clients")).toBe(1);
  await expect.poll(() => metric(fleet.hq, "ttyhq_uplinks")).toBe(1);
});

test("the HQ is killed three times during a stream: viewers go on at their byte", async () => {
  await using fleet = await TestFleet.start({ asProcess: true });
  await streamThrough(fleet, fleet.hq);
  await expect.poll(() => metric(fleet.remote("worker-1"), "ttyhq_clients")).toBe(1);
});

test("input while a remote's server is down is refused, and never arrives", async () => {
  await using fleet = await TestFleet.start({ asProcess: true });
  const { id } = await fleet.create("worker-1", { command: ["sh", "-c", "stty -echo; echo ready; cat"] });
  await using viewer = await RawSocket.open(fleet.hq.url);
  viewer.subscribe(id, { flags: Stdout });
  await viewer.shows(/ready\r\n/);
  viewer.type(id, "before\n");
  await viewer.shows(/before\r\n/);
  await fleet.remote("worker-1").kill();
  for (let round = 0; round < 20; round += 1) {
    viewer.type(id, `lost ${round}\n`);
    expect(await viewer.errorCode()).toBe("remote_unreachable");
  }
  const rest = await fleet.ask(`/api/sessions/${id}/input`, { body: { text: "lost, too\n" } });
  expect([rest.status, rest.json.code]).toEqual([502, "remote_unreachable"]);
  await fleet.remote("worker-1").restart();
  // Like a person: repeats refused input.
  for (let isIn = false; !isIn; ) {
    const refused = viewer.of(FrameType.ERROR).length;
    viewer.type(id, "after\n");
    isIn = await viewer.until(() => {
      if (viewer.of(FrameType.ERROR).length > refused) return false;
      return textOf(viewer.output(id)).includes("after") || undefined;
    }, "what became of it");
  }
  await viewer.shows(/after\r\n/);
  expect(textOf(viewer.output(id))).toBe("ready\r\nbefore\r\nafter\r\n");
});

test("viewers of a remote that leaves and returns continue at their byte", async () => {
  await using fleet = await TestFleet.start({ asProcess: true });
  await using events = await fleet.events();
  const { id } = await fleet.create("worker-1", { command: ["sh", "-c", "stty -echo; echo ready; cat"] });
  await using viewer = await RawSocket.open(fleet.hq.url);
  viewer.subscribe(id, { flags: Stdout });
  await viewer.shows(/ready\r\n/);
  await fleet.remote("worker-1").kill("SIGTERM");
  await events.first(({ type }) => type === "remote-left");
  expect(await fleet.sessions()).toEqual([]);
  await fleet.remote("worker-1").restart();
  await eventually(async () => {
    const { status } = await fleet.ask(`/api/sessions/${id}/input`, { body: { text: "again\n" } });
    return status === 200 || undefined;
  }, "the remote");
  await viewer.shows(/again\r\n/);
  expect(textOf(viewer.output(id))).toBe("ready\r\nagain\r\n");
});

test.each(["SIGKILL", "SIGTERM"] as const)(
  "a viewer that comes while the remote is away by %s is told, and one that waits gets it all when it is back",
  async (signal) => {
    await using fleet = await TestFleet.start({ asProcess: true });
    const { id } = await fleet.create("worker-1", { command: ["sh", "-c", "echo all of it; exit 3"] });
    await using before = await RawSocket.open(fleet.hq.url);
    before.subscribe(id, { flags: Stdout });
    await before.event("exit");
    before.send(FrameType.UNSUBSCRIBE, id);
    await before.settled();
    await fleet.remote("worker-1").kill(signal);
    await using viewer = await RawSocket.open(fleet.hq.url);
    viewer.subscribe(id, { flags: Stdout });
    expect(await viewer.errorCode()).toBe("remote_unreachable");
    expect((await fleet.ask(`/api/sessions/${id}`)).json).toMatchObject({ code: "remote_unreachable" });
    using waiting = new HashingViewer(fleet.hq.url, id);
    await fleet.remote("worker-1").restart();
    const sha256 = createHash("sha256").update("all of it\r\n").digest("hex");
    expect(await waiting.ended).toEqual({ sha256, bytes: 11, resyncs: 0 });
  },
);
