import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFiles, Journal } from "../../../../src/sessions/journal/journal.ts";
import { viewScreen } from "../../../../src/sessions/screen/source.ts";
import type { Screen, ScreenSource } from "../../../../src/sessions/screen/thread/message.ts";
import { Session } from "../../../../src/sessions/session.ts";
import { SessionMeter } from "../../../../src/sessions/session-meter.ts";
import { sessionFiles } from "../../../../src/sessions/storage/control-dir.ts";

const STORED = {
  ...{ id: "one", name: "n", command: ["sh"], cwd: "/", created: "2026-01-01T00:00:00.000Z", pid: 1 },
  ...{ cols: 80, rows: 24, shell: "/bin/sh" },
};
const PTY = {
  ...{ pid: 1, pendingInputBytes: 0, write: () => {}, resize: () => {}, pause: () => {}, resume: () => {} },
  [Symbol.dispose]: () => {},
};

/** A session on a disk that `fill` makes refuse everything. */
async function stage(stack: AsyncDisposableStack) {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-screen-source-"));
  stack.defer(() => rm(directory, { recursive: true }));
  const files = sessionFiles(directory);
  const disk = stack.adopt(await createFiles(files), (each) => each.close());
  let isFull = false;
  const orFull = async (write: () => Promise<number>): Promise<number> => {
    if (isFull) throw Object.assign(new Error("full"), { code: "ENOSPC" });
    return await write();
  };
  const journal = new Journal(
    {
      ...{ maxBytes: 1_000_000, meter: new SessionMeter(() => 0) },
      ...{ onPressure: () => {}, onGap: () => {}, onFailure: () => {} },
    },
    {
      writeOutput: (pieces, position) => orFull(() => disk.writeOutput(pieces, position)),
      writeEvents: (lines, position) => orFull(() => disk.writeEvents(lines, position)),
      close: async () => {},
    },
  );
  const session = new Session({
    ...{ files, stored: STORED, sizes: [], recordInput: false, onEvent: () => {}, now: () => 0 },
  });
  session.start(journal, () => PTY);
  const print = (text: string): void => session.receive(new TextEncoder().encode(text));
  return { session, journal, print, fill: () => (isFull = true) };
}

/** Answers with the output instead of the screen; `sources` has the paths, or the bytes. */
function rawScreens() {
  const sources: ScreenSource["output"][] = [];
  const view = async ({ output, upTo }: ScreenSource): Promise<Screen> => {
    sources.push(output);
    const bytes = typeof output === "string" ? await readFile(output) : output;
    return { offset: upTo, size: { cols: 80, rows: 24 }, bytes: new Uint8Array(bytes.subarray(0, upTo)) };
  };
  return { sources, view, forget: () => {} };
}

test("output that the disk refuses while it is waited for is in the screen", async () => {
  await using stack = new AsyncDisposableStack();
  const { session, journal, print, fill } = await stage(stack);
  print("abc");
  session.flush();
  await journal.flushed();
  fill();
  print("def");
  const { offset, bytes } = await viewScreen(session, rawScreens(), { kind: "buffer" });
  expect([offset, Buffer.from(bytes).toString()]).toEqual([6, "abcdef"]);
  expect(journal.failure).toBeDefined();
});

test("output that is on its way to the disk is waited for", async () => {
  await using stack = new AsyncDisposableStack();
  const { session, print } = await stage(stack);
  print("abc");
  const screens = rawScreens();
  const { offset, bytes } = await viewScreen(session, screens, { kind: "buffer" });
  expect([offset, Buffer.from(bytes).toString()]).toEqual([3, "abc"]);
  expect(screens.sources).toEqual([session.files.output]);
});

test("a screen has all output before its offset, also what came while the disk was failing", async () => {
  await using stack = new AsyncDisposableStack();
  const { session, journal, print, fill } = await stage(stack);
  print("abc");
  session.flush();
  await journal.flushed();
  // From now on output is batched.
  print("-".repeat(20_000));
  session.flush();
  fill();
  const viewing = viewScreen(session, rawScreens(), { kind: "resync" });
  print("def");
  const { offset, bytes } = await viewing;
  expect(journal.failure).toBeDefined();
  expect(bytes.length).toBe(offset);
});
