import { expect, onTestFinished, test, vi } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { LiveEdge } from "../../../../src/web/terminal/live-edge.ts";

/** What a promise sets off has happened. */
const settled = (): Promise<void> => new Promise(setImmediate);
/** Timers of the same time go off in the order in which they were set: a retry would have been made by then. */
const afterRetries = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("nothing is of the present until it is known where that begins", () => {
  using liveEdge = new LiveEdge({ written: () => Promise.reject(new Error("asked")) });
  expect(liveEdge.has(Number.MAX_SAFE_INTEGER)).toBe(false);
  liveEdge.at(100);
  expect([liveEdge.has(99), liveEdge.has(100)]).toEqual([false, true]);
  liveEdge.cut();
  expect(liveEdge.has(100)).toBe(false);
});

test.each([
  new ServiceError("rate_limited", "too many requests"),
  new ServiceError("host_unreachable", "no answer"),
  new ServiceError("not_found", "404 page not found"),
  new Error("anything"),
])("after a cut it is asked until the server says where the session is: %s", async (error) => {
  const answered = Promise.withResolvers<void>();
  let failures = 2;
  const written = async (): Promise<number> => {
    failures -= 1;
    if (failures >= 0) throw error;
    answered.resolve();
    return 100;
  };
  using liveEdge = new LiveEdge({ written, retryMs: 1 });
  liveEdge.cut();
  liveEdge.find();
  await answered.promise;
  await settled();
  expect([liveEdge.has(99), liveEdge.has(100)]).toEqual([false, true]);
});

test("of a session that is gone nothing is asked again", async () => {
  let asked = 0;
  const written = async (): Promise<number> => {
    asked += 1;
    throw new ServiceError("session_not_found", "no session s");
  };
  using liveEdge = new LiveEdge({ written, retryMs: 0 });
  liveEdge.find();
  await settled();
  await afterRetries();
  expect(asked).toBe(1);
});

test("an answer from before another cut says nothing", async () => {
  const answers = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  let asked = 0;
  using liveEdge = new LiveEdge({ written: async () => (await answers[asked++]?.promise) ?? Number.NaN });
  liveEdge.cut();
  liveEdge.find();
  liveEdge.cut();
  answers[0]?.resolve(100);
  await settled();
  expect(liveEdge.has(100)).toBe(false);
  liveEdge.find();
  answers[1]?.resolve(200);
  await settled();
  expect([liveEdge.has(199), liveEdge.has(200)]).toEqual([false, true]);
});

test("where the connection of now says that it begins, an answer or a failure that was waited for says nothing", async () => {
  const questions: PromiseWithResolvers<number>[] = [];
  const written = (): Promise<number> => {
    const question = Promise.withResolvers<number>();
    questions.push(question);
    return question.promise;
  };
  using liveEdge = new LiveEdge({ written, retryMs: 0 });
  liveEdge.find();
  liveEdge.found(100);
  questions[0]?.resolve(200);
  await settled();
  expect([liveEdge.has(99), liveEdge.has(100)]).toEqual([false, true]);
  liveEdge.find();
  liveEdge.found(300);
  questions[1]?.reject(new Error("no answer"));
  await settled();
  await afterRetries();
  expect(questions).toHaveLength(2);
});

test("a failed request is not repeated when the current connection knows the start", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let asked = 0;
  const written = async (): Promise<number> => {
    asked += 1;
    throw new Error("no answer");
  };
  using liveEdge = new LiveEdge({ written, retryMs: 0 });
  liveEdge.find();
  await settled();
  liveEdge.found(100);
  await vi.advanceTimersByTimeAsync(1);
  expect([asked, liveEdge.has(100)]).toEqual([1, true]);
});

test("a failure from before another cut sets off nothing", async () => {
  const { promise, reject } = Promise.withResolvers<number>();
  let asked = 0;
  const written = (): Promise<number> => {
    asked += 1;
    return promise;
  };
  using liveEdge = new LiveEdge({ written, retryMs: 0 });
  liveEdge.find();
  liveEdge.cut();
  reject(new Error("no answer"));
  await settled();
  await afterRetries();
  expect(asked).toBe(1);
});
