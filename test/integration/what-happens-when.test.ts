// The rows of docs/what-happens-when.md that no other test covers.
import { once } from "node:events";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { SessionSocket } from "../../src/protocol/client/session-socket.ts";
import { decodeFrame, decodeOutput, encodeFrame, FrameType } from "../../src/protocol/frame/frame.ts";
import { encodeSubscribe, SubscribeFlag } from "../../src/protocol/frame/payload.ts";
import { decodeResync } from "../../src/protocol/frame/resync.ts";
import { openLink } from "../../src/remote/uplink.ts";
import { CutProxy } from "./harness/cut-proxy.ts";
import { Follower } from "./harness/follower.ts";
import { ask } from "./harness/http.ts";
import { PATIENCE_MS } from "./harness/patience.ts";
import { TestServer } from "./harness/test-server.ts";

const text = (words: string): Uint8Array => new TextEncoder().encode(words);

async function socketTo(url: string): Promise<SessionSocket> {
  const socket = new SessionSocket({
    open: (handlers, signal) => openLink({ url, headers: {} }, handlers, signal),
    clientName: "test",
    version: "0",
  });
  await socket.opened(PATIENCE_MS);
  return socket;
}

test("the network drops: the viewer resumes at the byte, and input meanwhile is refused", async () => {
  await using server = await TestServer.start({ asProcess: true });
  await using network = await CutProxy.open(Number(new URL(server.url).port));
  const client = server.client();
  const { id } = await client.create({ command: ["cat"] });
  using far = await socketTo(network.url);
  using follower = Follower.attach(far, id);
  await far.write(id, text("before\n"));
  await follower.shows(/before\r\nbefore\r\n/);
  network.cut();
  await expect(far.write(id, text("typed into nowhere\n"))).rejects.toMatchObject({
    code: "host_unreachable",
  });
  await client.input(id, { text: "meanwhile\n" });
  network.mend();
  await follower.shows(/meanwhile\r\nmeanwhile\r\n/);
  await far.opened(PATIENCE_MS);
  await far.write(id, text("\u0004"));
  await follower.exit();
  expect(follower.text).toBe("before\r\nbefore\r\nmeanwhile\r\nmeanwhile\r\n");
});

test("the machine reboots: the next start lists running sessions as lost, with their output", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const before = server.client();
  const session = await before.create({ command: ["cat"], name: "before the crash" });
  using socket = await socketTo(server.url);
  using follower = Follower.attach(socket, session.id);
  await socket.write(session.id, text("kept\n"));
  await follower.shows(/kept\r\nkept/);
  // Answered when everything so far is on the disk, which viewers do not wait for.
  await ask(server.url, `/api/sessions/${session.id}/recording?follow=0`);
  await server.kill("SIGKILL");
  await server.killHost();
  await server.restart();
  const client = server.client();
  expect(await client.list()).toMatchObject([
    { id: session.id, name: "before the crash", status: "exited", exitReason: "host_lost", exitCode: 129 },
  ]);
  expect(await client.screen(session.id)).toContain("kept\nkept");
});

test("a viewer is slow: it gets the screen when it reads again; program and other viewers did not wait", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const client = server.client();
  // Longer than a viewer may read nothing and still count as merely distant.
  const script = "read go; yes | head -c 12000000; sleep 1; echo done; cat";
  const { id } = await client.create({ command: ["sh", "-c", script] });
  const slow = new WebSocket(`${server.url.replace("http", "ws")}/ws`);
  await withDeadline(once(slow, "open"), PATIENCE_MS, "the connection");
  const flags = SubscribeFlag.Stdout | SubscribeFlag.Offsets;
  slow.send(encodeFrame(FrameType.SUBSCRIBE, id, encodeSubscribe({ flags })));
  await withDeadline(
    framesUntil(slow, (type) => type === FrameType.SUBSCRIBED),
    PATIENCE_MS,
    "SUBSCRIBED",
  );
  slow.pause();
  using socket = await socketTo(server.url);
  using follower = Follower.attach(socket, id);
  await socket.write(id, text("go\n"));
  const end = "go\r\ndone\r\n".length + 18_000_000;
  await follower.until(() => (follower.next === end ? true : undefined), "all of the output");
  const caughtUp = framesUntil(slow, (type, payload) => endOf(type, payload) === end);
  slow.resume();
  const frames = await withDeadline(caughtUp, PATIENCE_MS, "the end of the output");
  const resyncs = frames.filter(([type]) => type === FrameType.RESYNC);
  expect(resyncs).toHaveLength(1);
  const received = frames.reduce((sum, [, payload]) => sum + payload.length, 0);
  expect(received).toBeLessThan(12_000_000);
  slow.terminate();
});

/** All frames up to the requested one. */
async function framesUntil(
  socket: WebSocket,
  isLast: (type: number, payload: Uint8Array) => boolean,
): Promise<[type: number, payload: Uint8Array][]> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const frames: [number, Uint8Array][] = [];
  const take = (message: Buffer): void => {
    const { type, payload } = decodeFrame(message);
    frames.push([type, payload]);
    if (isLast(type, payload)) resolve();
  };
  socket.on("message", take);
  await promise;
  socket.off("message", take);
  return frames;
}

/** The offset after a frame's output or drawing. */
function endOf(type: number, payload: Uint8Array): number | undefined {
  if (type === FrameType.RESYNC) return decodeResync(payload).offset;
  if (type !== FrameType.OUTPUT) return undefined;
  const { offset, bytes } = decodeOutput(payload);
  return offset + bytes.length;
}
