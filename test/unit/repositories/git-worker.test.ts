// The host's side of a git worker, with workers that a user has taken over.
import { expect, test, vi } from "vitest";
import type { FollowEntry } from "../../../src/git/follow/list.ts";
import { MAX_FOLLOWED_REPOSITORIES } from "../../../src/git/git-limits.ts";
import { WorkerProcess } from "../../../src/lib/os/worker-process.ts";
import { createLogger } from "../../../src/log.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { GitWorker, type GitWorkerParts } from "../../../src/repositories/git-worker.ts";
import { until } from "../until.ts";

type Told = Parameters<GitWorkerParts["onNotice"]>[0];

type Options = {
  readonly entries?: readonly FollowEntry[];
  readonly failures?: number;
  readonly set?: () => Promise<void>;
};

/** A process in place of the worker: `script` has the socket as `host`. Its first `failures` starts fail. */
function hostile(script: string, { entries = [], failures = 0, set = async () => {} }: Options = {}) {
  const notices: Told[] = [];
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const log = createLogger({ level: "info", format: "json", destination }).child({ account: "ada" });
  const program = `const host = new (require("net").Socket)({ fd: 3 });
    host.on("end", () => process.exit());
    const say = (message) => host.write(JSON.stringify(message) + "\\n");
    ${script}`;
  const command = { file: process.execPath, args: ["-e", program], env: {} };
  const lookUps: string[] = [];
  const worker = new GitWorker({
    account: "ada",
    start: async () => {
      lookUps.push("start");
      if (lookUps.length <= failures) throw new ServiceError("launch_failed", "no user ada yet");
      const process = new WorkerProcess(command, { name: "git worker", code: "git_failed" });
      return { process, identity: "ada" };
    },
    verify: async () => {
      lookUps.push("verify");
      return "ada";
    },
    target: undefined,
    store: { get: () => entries, set },
    onNotice: (notice) => void notices.push(notice),
    log,
    now: () => performance.now(),
  });
  return { worker, notices, lines, lookUps };
}

const NOTICE = `{ method: "notice", input: { user: "bob", notification: { type: "main-synced", level: "info",
  title: "t", message: "m", repoPath: "/r", timestamp: "2026-01-01T00:00:00.000Z" } } }`;
const call = { name: "listBranches", input: {}, user: "ada" };
const signal = new AbortController().signal;
const answering = 'host.on("data", () => say({ id: 1, answer: "[]" }));';
/** For more than one call: other messages may come with a call or apart from it. */
const answeringAll = `host.on("data", (data) => {
  for (const line of String(data).trim().split("\\n")) {
    const { method, id } = JSON.parse(line);
    if (method === "call") say({ id, answer: "[]" });
  }
});`;

test("a notification goes to the worker's user, whatever the worker says", async () => {
  const { worker, notices } = hostile(`say(${NOTICE}); ${answering}`);
  await using _ = worker;
  expect(await worker.call(call, signal)).toBe("[]");
  expect(notices).toMatchObject([{ user: "ada" }]);
});

test.each([
  ["no JSON", 'host.write("nonsense\\n");'],
  ["a message that nobody knows", 'say({ method: "root", input: {} });'],
  ["a message of no kind", 'say({ type: "root" });'],
  ["an answer of another type", "say({ id: 1, answer: 1 }); say(0);"],
  [
    "a git status that is longer than any",
    'say({ method: "status", input: { cwd: "/", status: { gitBranch: "x".repeat(20000) } } });',
  ],
  ...["title", "message", "repoPath", "branch", "timestamp"].map((name) => [
    `a notification whose ${name} is longer than any`,
    `const notice = ${NOTICE}; notice.input.notification.${name} = "x".repeat(40000); say(notice);`,
  ]),
  [
    "more repositories than may be followed",
    `say({ method: "store", id: 1, input: Array(${MAX_FOLLOWED_REPOSITORIES + 1}).fill({ repoPath: "/r", user: "u", hookFolders: [] }) });`,
  ],
])("a worker that sends %s is ended, and its calls fail", async (_, script) => {
  const { worker } = hostile(`host.on("data", () => { ${script} });`);
  await using _worker = worker;
  await expect(worker.call(call, AbortSignal.timeout(20_000))).rejects.toMatchObject({ code: "git_failed" });
});

test("a worker that stores again and again before it was answered is ended", async () => {
  const store = '{ method: "store", id: ++id, input: [] }';
  const { worker } = hostile(`let id = 0; for (let i = 0; i < 20000; i++) say(${store});`, {
    set: () => new Promise(() => {}),
  });
  await using _ = worker;
  await expect(worker.call(call, AbortSignal.timeout(20_000))).rejects.toMatchObject({ code: "git_failed" });
});

test("a worker that never reads is ended before its messages fill the memory", async () => {
  const { worker } = hostile("setInterval(() => {}, 1000);");
  await using _ = worker;
  const long = { ...call, input: { body: "x".repeat(1_000_000) } };
  const calls = Array.from({ length: 40 }, () => worker.call(long, AbortSignal.timeout(20_000)));
  for (const one of await Promise.allSettled(calls))
    expect(one).toMatchObject({ status: "rejected", reason: { code: "git_failed" } });
});

test("a worker that starts has its user looked up once, and one that runs has it checked at each call", async () => {
  const { worker, lookUps } = hostile(answeringAll);
  await using _ = worker;
  await worker.call(call, signal);
  expect(lookUps).toEqual(["start"]);
  await worker.call(call, signal);
  expect(lookUps).toEqual(["start", "verify"]);
});

test("a worker does not fill the log", async () => {
  const line = '{ method: "log", input: { level: "warn", fields: {}, message: "full" } }';
  const { worker, lines } = hostile(`for (let i = 0; i < 5000; i++) say(${line}); ${answering}`);
  await using _ = worker;
  await worker.call(call, signal);
  expect(lines.filter((text) => JSON.parse(text).message === "full").length).toBeLessThanOrEqual(60);
  expect(lines.at(-1)).toContain("too much");
});

test("a worker's log line stays its user's, whatever fields it has", async () => {
  const fields = { account: "bob", level: "error", time: "2000", pid: 1, message: "own", repoPath: "/r" };
  const line = JSON.stringify({ method: "log", input: { level: "warn", fields, message: "said" } });
  const { worker, lines } = hostile(`say(${line}); ${answering}`);
  await using _ = worker;
  await worker.call(call, signal);
  const time = expect.stringMatching(/^20[2-9]\d-/);
  expect(lines.map((text) => JSON.parse(text))).toEqual([
    { level: "warn", time, pid: process.pid, account: "ada", worker: fields, message: "said" },
  ]);
});

test("an idle worker can be released, and starts again for the next call", async () => {
  const { worker, lookUps } = hostile(answeringAll);
  await using _ = worker;
  expect(worker.release()).toBe(false);
  const answer = worker.call(call, signal);
  expect(worker.release()).toBe(false);
  await answer;
  expect([worker.release(), worker.isRunning]).toEqual([true, false]);
  expect(await worker.call(call, signal)).toBe("[]");
  expect(lookUps).toEqual(["start", "start"]);
});

test("a worker that follows a repository starts by itself after its start has failed", async () => {
  const entries = [{ repoPath: "/r", user: "ada", hookFolders: [] }];
  const { worker, lookUps, lines } = hostile(answering, { entries, failures: 1 });
  await using _ = worker;
  worker.resume();
  await until(() => lookUps.length === 2 && worker.isRunning);
  expect(lines.filter((line) => line.includes("git worker not started"))).toHaveLength(1);
});

test("a worker that follows a repository starts by itself after it could not start for a call", async () => {
  const entries = [{ repoPath: "/r", user: "ada", hookFolders: [] }];
  const { worker, lookUps } = hostile(answering, { entries, failures: 1 });
  await using _ = worker;
  await expect(worker.call(call, signal)).rejects.toMatchObject({ code: "launch_failed" });
  await until(() => lookUps.length === 2 && worker.isRunning);
});

test("a worker that could not start is not started once its last session is removed", async () => {
  vi.useFakeTimers();
  try {
    const { worker, lookUps } = hostile(answering, { failures: 1 });
    await using _ = worker;
    const presence = worker.enter("/r", { isLive: true, onChange: () => undefined });
    await vi.advanceTimersByTimeAsync(100);
    presence[Symbol.dispose]();
    // Nobody forgets a worker that may start.
    expect(worker.isUnused).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([lookUps, worker.isUnused]).toEqual([["start"], true]);
  } finally {
    vi.useRealTimers();
  }
});
