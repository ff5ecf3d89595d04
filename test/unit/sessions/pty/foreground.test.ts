import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Foreground, type ForegroundNews } from "../../../../src/sessions/pty/foreground.ts";
import type { CommandMark } from "../../../../src/sessions/pty/title-scan.ts";

const SHELL = 10;
const JOB = 20;

// Timers are the subject here: the platform's are moved by hand.
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp() {
  const finished: ForegroundNews[] = [];
  const terminal = { group: SHELL as number | undefined, checks: 0, reader: 0, typedMs: Date.now() };
  const foreground = new Foreground({
    ...{ pid: SHELL, now: () => Date.now(), typedMs: () => terminal.typedMs },
    onNews: (one) => void finished.push(one),
    processes: {
      group: () => {
        terminal.checks += 1;
        return terminal.group;
      },
      command: async (pid) => `command ${pid}`,
      isReadingTerminal: async (pid) => pid === terminal.reader,
    },
  });
  const prints = (...marks: readonly CommandMark[]): void => foreground.output(marks);
  const passes = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  return { finished, terminal, foreground, prints, passes };
}

test("a command of 3 s in its own process group is reported when the shell has the terminal again", async () => {
  const { finished, terminal, prints, passes } = setUp();
  prints();
  terminal.group = JOB;
  await passes(4_000);
  terminal.group = SHELL;
  prints();
  await passes(200);
  expect(finished).toEqual([
    { type: "command-finished", command: "command 20", duration: 4_000, exitCode: 0 },
  ]);
});

test("shorter commands and those of the shell itself are not reported", async () => {
  const { finished, terminal, prints, passes } = setUp();
  prints();
  terminal.group = JOB;
  await passes(2_900);
  terminal.group = SHELL;
  prints();
  await passes(60_000);
  prints();
  await passes(200);
  expect(finished).toEqual([]);
});

test("the second check sees a program that a busy machine starts late", async () => {
  const { finished, terminal, prints, passes } = setUp();
  prints();
  await passes(500);
  terminal.group = JOB;
  await passes(5_000);
  terminal.group = SHELL;
  prints();
  await passes(200);
  expect(finished).toMatchObject([{ command: "command 20", duration: 4_400 }]);
});

test("a quiet session is not checked", async () => {
  const { terminal, foreground, prints, passes } = setUp();
  prints();
  await passes(3_600_000);
  expect(terminal.checks).toBe(2);
  prints();
  foreground[Symbol.dispose]();
  await passes(3_600_000);
  expect(terminal.checks).toBe(2);
});

test("continuous output is checked ten times a second", async () => {
  const { terminal, prints, passes } = setUp();
  for (let ms = 0; ms < 1_000; ms++) {
    prints();
    await passes(1);
  }
  expect(terminal.checks).toBeGreaterThan(5);
  expect(terminal.checks).toBeLessThanOrEqual(10);
});

test("the marks of a shell's integration come before the process groups, and tell the exit code", async () => {
  const { finished, terminal, prints, passes } = setUp();
  prints({ kind: "started" });
  terminal.group = JOB;
  await passes(3_500);
  terminal.group = SHELL;
  prints({ kind: "finished", exitCode: 7 });
  await passes(2_000);
  prints({ kind: "finished", exitCode: 1 });
  prints({ kind: "started" });
  await passes(3_000);
  prints({ kind: "finished" });
  expect(finished).toEqual([
    { type: "command-finished", command: "command 20", duration: 3_500, exitCode: 7 },
    { type: "command-finished", command: "", duration: 3_000, exitCode: 0 },
  ]);
});

test("a program that reads the terminal, quiet for 5 s after work, is reported once as waiting", async () => {
  const { finished, terminal, prints, passes } = setUp();
  terminal.group = JOB;
  terminal.reader = JOB;
  prints();
  await passes(4_000);
  prints();
  await passes(4_900);
  expect(finished).toEqual([]);
  await passes(60_000);
  expect(finished).toEqual([{ type: "waiting-for-input" }]);
  prints();
  terminal.typedMs = Date.now();
  prints();
  await passes(60_000);
  expect(finished).toHaveLength(1);
});

test("a program without terminal input, or one just reported, is not waiting", async () => {
  const { finished, terminal, prints, passes, foreground } = setUp();
  terminal.group = JOB;
  await passes(4_000);
  prints();
  await passes(60_000);
  expect(finished).toEqual([]);
  terminal.reader = JOB;
  foreground.output([], { title: "", body: "ready" });
  foreground.output([], { title: "", body: "too soon after that" });
  await passes(60_000);
  expect(finished).toEqual([{ type: "program-notification", title: "", body: "ready" }]);
  terminal.group = SHELL;
  terminal.reader = SHELL;
  prints();
  await passes(60_000);
  expect(finished.map(({ type }) => type)).toEqual(["program-notification", "command-finished"]);
});
