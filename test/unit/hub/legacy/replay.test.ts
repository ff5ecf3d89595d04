import { expect, test } from "vitest";
import { planReplay } from "../../../../src/hub/legacy/replay.ts";
import { MAX_REPLAY_BYTES } from "../../../../src/protocol/limits.ts";
import { MemorySessions } from "../memory-sessions.ts";

const CLEAR = "\x1b[2J";

function sessionWith(...output: readonly (string | Uint8Array)[]) {
  const backend = new MemorySessions();
  const session = backend.add("s");
  for (const part of output) session.print(part);
  const plan = (hasSize = false) =>
    planReplay(
      backend,
      { sessionId: "s", isRecorded: true, isWhole: false, start: 0, end: session.end },
      hasSize,
      new AbortController().signal,
    );
  return { session, plan };
}

const text = (prefix: Uint8Array): string => new TextDecoder().decode(prefix);

test("a short history is replayed from its first byte on", async () => {
  expect(await sessionWith("hello").plan()).toMatchObject({ offset: 0 });
  expect(await sessionWith().plan()).toMatchObject({ offset: 0 });
});

test("a history begins at the last clear, in the modes that were on there", async () => {
  const replay = await sessionWith("\x1b[?2004hbefore", `${CLEAR}one`, `${CLEAR}two`).plan();
  expect(replay).toMatchObject({ offset: 21 });
  expect(replay && text(replay.prefix)).toBe("\x1b[?2004h");
});

test("output longer than the limit is replayed from its last clear, or replaced by the screen", async () => {
  const flood = new Uint8Array(MAX_REPLAY_BYTES).fill(120);
  expect(await sessionWith(flood).plan()).toMatchObject({ offset: 0 });
  expect(await sessionWith(flood, "x").plan()).toBeUndefined();
  expect(await sessionWith(CLEAR, flood).plan()).toBeUndefined();
  const { length } = flood;
  expect(await sessionWith(flood, `${CLEAR}rest`).plan()).toMatchObject({ offset: length });
});

test("output that is not held any more cannot be replayed", async () => {
  const { session, plan } = sessionWith("hello", "world");
  session.held = 3;
  expect(await plan()).toBeUndefined();
});

test("the size is that of the beginning of the replay", async () => {
  const { session, plan } = sessionWith("before");
  session.resize({ cols: 100, rows: 40 });
  session.print(`${CLEAR}after`);
  session.resize({ cols: 50, rows: 20 });
  expect(await plan(true)).toMatchObject({ offset: 6, size: { cols: 100, rows: 40 } });
  expect(await plan()).toMatchObject({ size: undefined });
});
