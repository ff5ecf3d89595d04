import { expect, test } from "vitest";
import { Feed, type FeedReader } from "../../../src/hub/feed.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { FEED_KEEP_BYTES, FEED_WINDOW_BYTES } from "../../../src/protocol/limits.ts";
import { textOf } from "./memory-client.ts";
import { MemorySessions } from "./memory-sessions.ts";

const ALL = SubscribeFlag.Stdout | SubscribeFlag.Events;

async function open() {
  const sessions = new MemorySessions();
  const session = sessions.add("s");
  const feed = await Feed.open(sessions, "s", ALL);
  return { sessions, session, feed };
}

/** Reads nothing unless it is told to. */
function reader(feed: Feed) {
  const state = { next: feed.after, entries: 0, losses: [] as ServiceError[] };
  const self: FeedReader = {
    get next() {
      return state.next;
    },
    onChange: (change) => {
      if (change === "entry") state.entries += 1;
      if (change === "lost" && feed.loss !== undefined) state.losses.push(feed.loss);
    },
  };
  return { state, following: feed.follow(self) };
}

test("a feed begins at the end of the output", async () => {
  const sessions = new MemorySessions();
  sessions.add("s").print("before");
  const feed = await Feed.open(sessions, "s", ALL);
  expect([feed.start, feed.end]).toEqual([6, 6]);
});

test("a feed holds a window for the slowest reader, at most 4 MiB, and little once all have read it", async () => {
  const { session, feed } = await open();
  const { state } = reader(feed);
  for (let i = 0; i < 100; i++) session.print(textOf(100_000));
  expect(feed.end - feed.start).toBeLessThanOrEqual(FEED_WINDOW_BYTES);
  expect(feed.end - feed.start).toBeGreaterThan(FEED_WINDOW_BYTES - 200_000);
  expect(feed.first).toBeGreaterThan(state.next);
  state.next = feed.after;
  session.print("x");
  expect(feed.end - feed.start).toBeLessThanOrEqual(FEED_KEEP_BYTES + 100_000);
});

test("many small pieces of output stay within the window", async () => {
  const { session, feed } = await open();
  reader(feed);
  for (let i = 0; i < 40_000; i++) session.print("x");
  expect(feed.after - feed.first).toBeLessThanOrEqual(FEED_WINDOW_BYTES / 256);
});

test("long events stay within the window", async () => {
  const { session, feed } = await open();
  reader(feed);
  for (let i = 0; i < 20; i++) session.title(textOf(1_000_000));
  expect(feed.after - feed.first).toBeLessThanOrEqual(FEED_WINDOW_BYTES / 1_000_000);
});

test("the piece that contains a byte is found, with the events before it", async () => {
  const { session, feed } = await open();
  reader(feed);
  session.print("abc");
  session.resize({ cols: 10, rows: 10 });
  session.print("def");
  session.exit(0);
  const found = (offset: number): string => {
    const entry = feed.entry(feed.find(offset));
    return entry === undefined ? "nothing" : `${entry.kind} ${entry.end}`;
  };
  expect([0, 2, 3, 4, 6].map(found)).toEqual(["output 3", "output 3", "event 3", "output 6", "event 6"]);
  expect(found(7)).toBe("nothing");
  expect(feed.record).toMatchObject({ cols: 10, rows: 10, status: "exited", exitCode: 0 });
});

test("the exit is kept for later viewers, however much output came before it", async () => {
  const { session, feed } = await open();
  for (let i = 0; i < 10; i++) session.print(textOf(300_000));
  session.exit(1);
  expect(feed.last).toMatchObject({ kind: "event", event: { kind: "exit", exitCode: 1 } });
});

test("output that the upstream skipped is a gap in the window, and output begins anew after the gap", async () => {
  const { session, feed } = await open();
  const { state } = reader(feed);
  session.print("abc");
  state.next = feed.after;
  session.size = { cols: 90, rows: 30 };
  session.skip("def");
  expect([feed.start, feed.end]).toEqual([6, 6]);
  expect(feed.entry(state.next)).toEqual({ kind: "gap", end: 6 });
  expect(feed.entry(feed.find(6))).toMatchObject({ kind: "event", event: { dimensions: "90x30" } });
  expect(feed.record).toMatchObject({ cols: 90, rows: 30 });
});

test("a reader that leaves, or that another reader removes, receives nothing more", async () => {
  const { session, feed } = await open();
  const later = reader(feed);
  const leaving = reader(feed);
  leaving.following[Symbol.dispose]();
  const first = feed.follow({
    next: 0,
    onChange: () => {
      first[Symbol.dispose]();
      last.following[Symbol.dispose]();
    },
  });
  const last = reader(feed);
  session.print("x");
  session.print("y");
  expect([later.state.entries, leaving.state.entries, last.state.entries]).toEqual([2, 0, 0]);
});

test("the loss of a session is reported to every reader once, and ends the subscription", async () => {
  const { session, feed } = await open();
  const { state } = reader(feed);
  const error = new ServiceError("session_not_found", "no session s");
  session.lose(error);
  feed.lose(new ServiceError("session_not_found", "later"));
  expect(state.losses).toEqual([error]);
  expect(feed.loss).toBe(error);
  expect(session.sink).toBeUndefined();
});
