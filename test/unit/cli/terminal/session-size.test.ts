import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { SessionSize } from "../../../../src/cli/terminal/session-size.ts";
import { Terminal } from "../../../../src/cli/terminal/terminal.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import type { TerminalSize } from "../../../../src/protocol/schemas/session.ts";

afterEach(() => void vi.useRealTimers());

/** A terminal of 80x24 whose session has that size. `asked`: the requested sizes; each waits for its entry in `answers`. */
function sized() {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  const asked: string[] = [];
  const answers: PromiseWithResolvers<void>[] = [];
  const resize = (_: string, { cols, rows }: TerminalSize): Promise<void> => {
    asked.push(`${cols}x${rows}`);
    const answer = Promise.withResolvers<void>();
    answers.push(answer);
    return answer.promise;
  };
  const terminal = new Terminal({ stdin: new PassThrough(), stdout });
  const size = new SessionSize({
    socket: { resize },
    terminal,
    sessionId: "s",
    created: { cols: 80, rows: 24 },
    isReadOnly: false,
  });
  const become = (columns: number, rows: number): void => {
    Object.assign(stdout, { columns, rows });
    stdout.emit("resize");
  };
  return { asked, answers, become, size, [Symbol.dispose]: () => size[Symbol.dispose]() };
}

test("a terminal that returns to its size before the answer resizes the session back", () => {
  using session = sized();
  session.become(100, 30);
  session.become(80, 24);
  expect(session.asked).toEqual(["100x30", "80x24"]);
});

test("a size that the session has, or that was requested, is not sent again", () => {
  using session = sized();
  session.size.sendChanged();
  session.become(100, 30);
  session.size.sendChanged();
  expect(session.asked).toEqual(["100x30"]);
});

test("a size that was not accepted is sent again with the next connection", async () => {
  using session = sized();
  session.become(100, 30);
  session.answers[0]?.reject(new ServiceError("host_unreachable", "no link"));
  await new Promise(setImmediate);
  session.size.sendChanged();
  expect(session.asked).toEqual(["100x30", "100x30"]);
});

test("a size that an unreachable remote refused is sent again until it is accepted", async () => {
  vi.useFakeTimers();
  using session = sized();
  session.become(100, 30);
  session.answers[0]?.reject(new ServiceError("remote_unreachable", "the machine is away"));
  await vi.advanceTimersToNextTimerAsync();
  session.answers[1]?.reject(new ServiceError("remote_timeout", "the machine does not answer"));
  await vi.advanceTimersToNextTimerAsync();
  session.answers[2]?.resolve();
  await vi.runAllTimersAsync();
  expect(session.asked).toEqual(["100x30", "100x30", "100x30"]);
});

test("a size is not sent again after a final refusal, nor after the terminal is detached", async () => {
  vi.useFakeTimers();
  using session = sized();
  session.become(100, 30);
  session.answers[0]?.reject(new ServiceError("forbidden", "you may only look"));
  await vi.runAllTimersAsync();
  session.become(120, 40);
  session.size[Symbol.dispose]();
  session.answers[1]?.reject(new ServiceError("remote_unreachable", "the machine is away"));
  await vi.runAllTimersAsync();
  expect(session.asked).toEqual(["100x30", "120x40"]);
});
