import { expect, test } from "vitest";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import { CreateSession, type GitStatus } from "../../../src/protocol/schemas/session.ts";
import { SessionsWithStatus } from "../../../src/sessions/sessions-with-status.ts";
import { MemorySessions } from "../hub/memory-sessions.ts";

type Entered = { readonly account: string | undefined; isLive: boolean; isHere: boolean; tell: () => void };

/** A git status that a test sets. */
class MemoryStatus {
  readonly entered: Entered[] = [];
  asks = 0;
  isOver = false;
  status: GitStatus | undefined;

  enter(place: { account: string | undefined }, options: { isLive: boolean; onChange: () => void }) {
    const entry: Entered = {
      ...{ account: place.account, isLive: options.isLive, isHere: true, tell: options.onChange },
    };
    this.entered.push(entry);
    const status = (): GitStatus | undefined => this.status;
    return {
      get status() {
        return status();
      },
      ended: () => {
        entry.isLive = false;
      },
      [Symbol.dispose]: () => {
        entry.isHere = false;
      },
    };
  }

  viewed(): Disposable {
    return new DisposableStack();
  }

  asked(): void {
    this.asks++;
  }

  set(status: GitStatus | undefined): void {
    this.status = status;
    for (const { isHere, tell } of this.entered) if (isHere) tell();
  }

  on(): Disposable {
    return new DisposableStack();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true;
  }
}

function stage() {
  const memory = new MemorySessions();
  const source = new MemoryStatus();
  const sessions = new SessionsWithStatus({ backend: memory, source: source });
  const events: ServerEvent[] = [];
  sessions.watch((event) => events.push(event));
  const announce = (type: ServerEvent["type"], sessionId?: string): void =>
    memory.announce({ type, timestamp: "", ...(sessionId === undefined ? {} : { sessionId }) });
  return { memory, source, sessions, events, announce };
}

const MAIN = { gitRepoPath: "/r", gitBranch: "main" };
const LATER = "2026-01-02T00:00:00.000Z";
const noAccount = () => ({ account: undefined });

test("every record carries what is known, and is as it was where nothing is", async () => {
  const { memory, source, sessions } = stage();
  memory.add("a");
  sessions.begin(noAccount);
  expect((await sessions.get("a")).gitBranch).toBeUndefined();
  source.set(MAIN);
  using subscription = await sessions.subscribe("a", () => {});
  const records = [
    ...(await sessions.list()),
    await sessions.get("a"),
    await sessions.rename("a", "b"),
    subscription.record,
    await sessions.create(CreateSession.parse({ id: "c" })),
  ];
  expect(records.map(({ gitBranch }) => gitBranch)).toEqual(Array(5).fill("main"));
  expect(source.asks).toBeGreaterThan(0);
});

test("before it is known as whom git runs, nobody asks", async () => {
  const { memory, source, sessions, announce } = stage();
  memory.add("a");
  await sessions.list();
  announce("session-start", "a");
  await sessions.list();
  expect(source.entered).toEqual([]);
  sessions.begin(() => ({ account: "ada" }));
  await sessions.list();
  expect(source.entered).toMatchObject([{ account: "ada", isLive: true }]);
});

test("a change is told of each session that is there", async () => {
  const { memory, source, sessions, events, announce } = stage();
  memory.add("a");
  memory.add("b");
  sessions.begin(noAccount);
  await sessions.list();
  source.set(MAIN);
  expect(events.map(({ type, sessionId }) => [type, sessionId])).toEqual([
    ["session-changed", "a"],
    ["session-changed", "b"],
  ]);
  expect(events[0]).toMatchObject({ sessionName: "a" });
  announce("session-removed", "a");
  source.set(undefined);
  expect(events.slice(3).map(({ sessionId }) => sessionId)).toEqual(["b"]);
});

test("a session that starts is looked at without anybody asking, and one that ends is said to have", async () => {
  const { memory, source, sessions, announce } = stage();
  sessions.begin(noAccount);
  const one = memory.add("a");
  announce("session-start", "a");
  await sessions.list();
  expect(source.entered).toMatchObject([{ isLive: true }]);
  one.exit(0);
  announce("session-exit", "a");
  expect(source.entered).toMatchObject([{ isLive: false, isHere: true }]);
  // One that was over before it was seen.
  memory.add("b").exit(0);
  announce("session-exit", "b");
  await sessions.list();
  expect(source.entered[1]).toMatchObject({ isLive: false });
});

test("an answer that is older than the removal brings no session back", async () => {
  const { memory, source, sessions, announce } = stage();
  memory.add("a");
  sessions.begin(noAccount);
  const listing = sessions.list();
  announce("session-removed", "a");
  await listing;
  await sessions.list();
  expect(source.entered.filter(({ isHere }) => isHere)).toEqual([]);
  // Another one may have that id.
  announce("session-start", "a");
  await sessions.list();
  expect(source.entered.filter(({ isHere }) => isHere)).toHaveLength(1);
});

test.each(["list", "get"] as const)(
  "what %s answers for a session that is no more says nothing of another one with its id",
  async (question) => {
    const { memory, source, sessions, announce } = stage();
    const ask = (): Promise<unknown> => (question === "list" ? sessions.list() : sessions.get("a"));
    const one = memory.add("a");
    one.exit(0);
    sessions.begin(noAccount);
    await sessions.list();
    const asked = Promise.withResolvers<void>();
    memory.answer = () => asked.promise;
    const asking = ask();
    memory.answer = async () => {};
    await sessions.remove("a");
    memory.add("a").created = LATER;
    announce("session-start", "a");
    await sessions.list();
    asked.resolve();
    await asking;
    expect(source.entered.map(({ isHere, isLive }) => ({ isHere, isLive }))).toEqual([
      { isHere: false, isLive: false },
      { isHere: true, isLive: true },
    ]);
  },
);

test("its end is that of the source", async () => {
  const { source, sessions } = stage();
  await sessions[Symbol.asyncDispose]();
  expect(source.isOver).toBe(true);
});
