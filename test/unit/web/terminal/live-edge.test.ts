import { expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { LiveEdge } from "../../../../src/web/terminal/live-edge.ts";

/** What a promise sets off has happened. */
const settled = (): Promise<void> => new Promise(setImmediate);
/** Timers of the same time go off in the order in which they were set: a retry would have been made by then. */
const afterRetries = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("nothing is of the present until it is known where that begins", () => {
  using present = new LiveEdge({ written: () => Promise.reject(new Error("asked")) });
  expect(present.has(Number.MAX_SAFE_INTEGER)).toBe(false);
  present.at(100);
  expect([present.has(99), present.has(100)]).toEqual([false, true]);
  present.cut();
  expect(present.has(100)).toBe(false);
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
  using present = new LiveEdge({ written, retryMs: 1 });
  present.cut();
  present.find();
  await answered.promise;
  await settled();
  expect([present.has(99), present.has(100)]).toEqual([false, true]);
});

test("of a session that is gone nothing is asked again", async () => {
  let asked = 0;
  const written = async (): Promise<number> => {
    asked += 1;
    throw new ServiceError("session_not_found", "no session s");
  };
  using present = new LiveEdge({ written, retryMs: 0 });
  present.find();
  await settled();
  await afterRetries();
  expect(asked).toBe(1);
});

test("an answer from before another cut says nothing", async () => {
  const answers = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  let asked = 0;
  using present = new LiveEdge({ written: async () => (await answers[asked++]?.promise) ?? Number.NaN });
  present.cut();
  present.find();
  present.cut();
  answers[0]?.resolve(100);
  await settled();
  expect(present.has(100)).toBe(false);
  present.find();
  answers[1]?.resolve(200);
  await settled();
  expect([present.has(199), present.has(200)]).toEqual([false, true]);
});

test("where the connection of now says that it begins, an answer or a failure that was waited for says nothing", async () => {
  const questions: PromiseWithResolvers<number>[] = [];
  const written = (): Promise<number> => {
    const question = Promise.withResolvers<number>();
    questions.push(question);
    return question.promise;
  };
  using present = new LiveEdge({ written, retryMs: 0 });
  present.find();
  present.found(100);
  questions[0]?.resolve(200);
  await settled();
  expect([present.has(99), present.has(100)]).toEqual([false, true]);
  present.find();
  present.found(300);
  questions[1]?.reject(new Error("no answer"));
  await settled();
  await afterRetries();
  expect(questions).toHaveLength(2);
});

test("a failed question is not asked again when the connection of now says where it begins", async () => {
  let asked = 0;
  const written = async (): Promise<number> => {
    asked += 1;
    throw new Error("no answer");
  };
  using present = new LiveEdge({ written, retryMs: 0 });
  present.find();
  await settled();
  present.found(100);
  await afterRetries();
  expect([asked, present.has(100)]).toEqual([1, true]);
});

test("a failure from before another cut sets off nothing", async () => {
  const { promise, reject } = Promise.withResolvers<number>();
  let asked = 0;
  const written = (): Promise<number> => {
    asked += 1;
    return promise;
  };
  using present = new LiveEdge({ written, retryMs: 0 });
  present.find();
  present.cut();
  reject(new Error("no answer"));
  await settled();
  await afterRetries();
  expect(asked).toBe(1);
});
