// The git status of the folders that sessions were started in.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import { CreateSession, type GitStatus } from "../../../src/protocol/schemas/session.ts";
import type { Delivery } from "../../../src/sessions/backend.ts";
import { LocalSessions } from "../../../src/sessions/local-sessions.ts";
import { Screens } from "../../../src/sessions/screen/screens.ts";
import { openControlDir } from "../../../src/sessions/storage/control-dir.ts";

const AT = "2026-01-01T00:00:00.000Z";
const MAIN = { gitRepoPath: "/r", gitBranch: "main", gitModifiedCount: 3 };
const CAT = CreateSession.parse({ id: "cat", command: ["cat"], cwd: "/" });

type Entered = { readonly account: string | undefined; isLive: boolean; isHere: boolean; tell: () => void };

/** A git status that a test sets. */
class MemoryStatus {
  readonly entered: Entered[] = [];
  views = 0;
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
    this.views++;
    return { [Symbol.dispose]: () => void this.views-- };
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

/** Sessions that have ended before, of user ada. */
async function stage(stack: AsyncDisposableStack, ...ended: readonly string[]) {
  const directory = await mkdtemp(join(tmpdir(), "ttyhq-git-status-"));
  stack.defer(() => rm(directory, { recursive: true }));
  const controlDir = openControlDir(directory);
  for (const id of ended) {
    const files = controlDir.session(id);
    await mkdir(files.directory);
    const stored = {
      ...{ id, name: id, command: ["sh"], cwd: "/", created: AT, pid: 1, shell: "/bin/sh", account: "ada" },
      ...{ cols: 80, rows: 24, exit: { code: 0, reason: "exit", at: AT, outputBytes: 0 } },
    };
    await writeFile(files.record, JSON.stringify(stored));
    for (const path of [files.output, files.events, files.recording]) await writeFile(path, "");
  }
  const sessions = new LocalSessions({
    ...{ controlDir, env: { PATH: process.env.PATH }, account: { user: "me", home: "/", shell: "/bin/sh" } },
    ...{ screens: stack.use(new Screens()), now: () => performance.now() },
    ...{ maxRecordingBytes: 1_000_000, recordInput: false },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  });
  stack.use(sessions);
  const source = new MemoryStatus();
  await sessions.recover(source);
  const events: ServerEvent[] = [];
  stack.use(sessions.watch((event) => events.push(event)));
  return { sessions, source, events };
}

test("every record has the known git status, and no git members without one", async () => {
  await using stack = new AsyncDisposableStack();
  const { sessions, source } = await stage(stack, "a");
  expect(sessions.find("a").gitBranch).toBeUndefined();
  expect(sessions.all()).toHaveLength(1);
  expect(source.asks).toBe(0);
  source.set(MAIN);
  using subscription = await sessions.subscribe("a", () => {});
  const records = [
    ...(await sessions.list()),
    await sessions.get("a"),
    await sessions.rename("a", "b"),
    subscription.record,
    await sessions.create(CAT),
  ];
  expect(records.map(({ gitBranch }) => gitBranch)).toEqual(Array(5).fill("main"));
  expect(source.asks).toBeGreaterThan(0);
});

test("a change is reported for each session in the folder", async () => {
  await using stack = new AsyncDisposableStack();
  const { sessions, source, events } = await stage(stack, "a", "b");
  expect(source.entered).toMatchObject([
    { account: "ada", isLive: false },
    { account: "ada", isLive: false },
  ]);
  source.set(MAIN);
  const told = (): unknown[] => events.splice(0).map(({ type, record }) => [type, record?.gitBranch]);
  expect(told()).toEqual(Array(2).fill(["session-changed", "main"]));
  await sessions.remove("a");
  told();
  source.set(undefined);
  expect(told()).toEqual([["session-changed", undefined]]);
});

test("the status of a new session is read at once, and the folder learns of its end", async () => {
  await using stack = new AsyncDisposableStack();
  const { sessions, source } = await stage(stack);
  await sessions.create(CAT);
  expect(source.entered).toMatchObject([{ account: undefined, isLive: true }]);
  await sessions.remove("cat");
  expect(source.entered).toMatchObject([{ isLive: false, isHere: true }]);
  await sessions.remove("cat");
  expect(source.entered).toMatchObject([{ isHere: false }]);
});

test("a viewer gets the counts first and at each change, and none after the exit", async () => {
  await using stack = new AsyncDisposableStack();
  const { sessions, source } = await stage(stack);
  source.status = MAIN;
  await sessions.create(CAT);
  const kinds: unknown[] = [];
  const sink = (delivery: Delivery): void => {
    if (delivery.kind !== "event") return;
    kinds.push(delivery.event.kind === "git-status" ? delivery.event.gitModifiedCount : delivery.event.kind);
  };
  using subscription = await sessions.subscribe("cat", sink);
  expect(source.views).toBe(1);
  source.set({ ...MAIN, gitModifiedCount: 4 });
  source.set({ ...MAIN, gitModifiedCount: 4, gitBranch: "other" });
  await sessions.remove("cat");
  source.set(MAIN);
  expect(kinds).toEqual([3, 4, "exit"]);
  subscription[Symbol.dispose]();
  expect(source.views).toBe(0);
});

test("disposing the sessions disposes the source of the status", async () => {
  await using stack = new AsyncDisposableStack();
  const { sessions, source } = await stage(stack);
  await sessions[Symbol.asyncDispose]();
  expect(source.isOver).toBe(true);
});
