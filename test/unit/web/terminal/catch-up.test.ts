import { expect, test } from "vitest";
import {
  BUSY_BYTES,
  CatchUp,
  CHECK_INTERVAL_MS,
  MAX_BEHIND_BYTES,
  MAX_BEHIND_TYPING_BYTES,
  REST,
} from "../../../../src/web/terminal/catch-up.ts";

function catchUpOf(state: { behind: number; isShown?: boolean; takesMs?: number }) {
  const done: string[] = [];
  const clock = { now: 0 };
  const catchUp = new CatchUp({
    behind: async () => {
      done.push("ask");
      return state.behind;
    },
    skip: async () => {
      done.push("skip");
      clock.now += state.takesMs ?? 0;
    },
    isShown: () => state.isShown ?? true,
    now: () => clock.now,
  });
  /** What comes in the time between two checks, and the end of that time. */
  const receive = async (bytes: number): Promise<void> => {
    catchUp.received(bytes);
    clock.now += CHECK_INTERVAL_MS;
    catchUp.received(0);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { pursuit: catchUp, done, clock, receive };
}

test("without much output there are no checks", async () => {
  const { pursuit, done, receive } = catchUpOf({ behind: Number.MAX_SAFE_INTEGER });
  await receive(BUSY_BYTES - 1);
  pursuit.typed();
  expect(done).toEqual([]);
});

test("a burst that is not far ahead is not skipped", async () => {
  const { done, receive } = catchUpOf({ behind: MAX_BEHIND_BYTES });
  await receive(BUSY_BYTES);
  await receive(BUSY_BYTES);
  expect(done).toEqual(["ask", "ask"]);
});

test("the page skips to a distant live edge", async () => {
  const { done, receive } = catchUpOf({ behind: MAX_BEHIND_BYTES + 1 });
  await receive(BUSY_BYTES);
  expect(done).toEqual(["ask", "skip"]);
});

test("typing during much output skips closer to the live edge", async () => {
  const { pursuit, done } = catchUpOf({ behind: MAX_BEHIND_TYPING_BYTES + 1 });
  pursuit.received(BUSY_BYTES);
  pursuit.typed();
  // One question at a time.
  pursuit.typed();
  await Promise.resolve();
  await Promise.resolve();
  expect(done).toEqual(["ask", "skip"]);
});

test("a screen that takes long is not asked for again at once, however much is typed", async () => {
  const takesMs = 100;
  const { pursuit, done, clock } = catchUpOf({ behind: MAX_BEHIND_TYPING_BYTES + 1, takesMs });
  const type = async (): Promise<void> => {
    pursuit.typed();
    // All promises in it are settled.
    await new Promise((done) => setImmediate(done));
  };
  pursuit.received(BUSY_BYTES);
  await type();
  clock.now += REST * takesMs - 1;
  await type();
  expect(done).toEqual(["ask", "skip"]);
  clock.now += 1;
  await type();
  expect(done).toEqual(["ask", "skip", "ask", "skip"]);
});

test("a window that is not shown skips nothing until it is", async () => {
  const state = { behind: MAX_BEHIND_BYTES + 1, isShown: false };
  const { done, receive } = catchUpOf(state);
  await receive(BUSY_BYTES);
  expect(done).toEqual([]);
  state.isShown = true;
  await receive(BUSY_BYTES);
  expect(done).toEqual(["ask", "skip"]);
});
