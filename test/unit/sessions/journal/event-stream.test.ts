import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventLine } from "../../../../src/sessions/journal/event.ts";
import { eventStream } from "../../../../src/sessions/journal/event-stream.ts";
import { Session } from "../../../../src/sessions/session.ts";
import { type SessionFiles, sessionFiles } from "../../../../src/sessions/storage/control-dir.ts";

const MIB = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
const AT = "2026-01-01T00:00:00.000Z";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** An ended session with that much output. */
async function endedSession(files: SessionFiles, outputBytes: number): Promise<Session> {
  await writeFile(files.output, Buffer.alloc(outputBytes, "x"));
  const offsets = Array.from({ length: outputBytes / PIECE_BYTES }, (_, index) => (index + 1) * PIECE_BYTES);
  const lines = offsets.map((offset) => eventLine({ time: 1, offset, kind: "o" }));
  await writeFile(files.events, lines.join(""));
  return new Session({
    ...{ files, sizes: [], recordInput: false, onEvent: () => {}, now: () => performance.now() },
    stored: {
      ...{ id: "one", name: "n", command: ["sh"], cwd: "/", created: AT, pid: 1, shell: "/bin/sh" },
      ...{ cols: 80, rows: 24, exit: { code: 0, reason: "exit", at: AT, outputBytes } },
    },
  });
}

test("a stream keeps no events that it has sent", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-event-stream-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(directory, { recursive: true }));
  const session = await endedSession(sessionFiles(directory), 32 * MIB);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let toldBytes = 0;
  for await (const { length } of eventStream(session, 0, new AbortController().signal)) {
    toldBytes += length;
    if (toldBytes < 30 * MIB) continue;
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(8 * MIB);
    return;
  }
  expect.unreachable("the stream ends too early");
});

test("a slow client gets all events up to the exit", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-event-stream-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const session = await endedSession(sessionFiles(directory), 2 * PIECE_BYTES);
  const stream = eventStream(session, 0, new AbortController().signal);
  const told = [Buffer.from((await stream.next()).value ?? "")];
  // More than the stream's buffers take, whenever the events reach them.
  const beats = 30_000;
  vi.advanceTimersByTime(beats * 30_000);
  for await (const bytes of stream) told.push(Buffer.from(bytes));
  const text = Buffer.concat(told).toString();
  expect(text).toMatch(/data: \["exit",0,"one"\]\n\n$/);
  expect(text.match(/:heartbeat/g)?.length ?? 0).toBeLessThan(beats / 2);
});
