import { expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { actOnEach } from "../../../../src/web/app/bulk-action.ts";

function limited(retryAfterSeconds: number): ServiceError {
  return new ServiceError("rate_limited", "too many requests", { details: { retryAfterSeconds } });
}

test("a request over the limit is sent again after its wait, and not at once by another worker", async () => {
  const sent: [string, number][] = [];
  const start = performance.now();
  const act = async (target: string): Promise<void> => {
    const isFirst = sent.every(([name]) => name !== target);
    sent.push([target, performance.now() - start]);
    if (target === "a" && isFirst) throw limited(0.05);
    // The other workers are free before the wait is over.
    if (target === "b") await Promise.resolve();
  };
  expect(await actOnEach(["a", "b", "c"], act, new AbortController().signal)).toEqual([]);
  expect(sent.map(([name]) => name)).toEqual(["a", "b", "c", "a"]);
  expect(sent.at(-1)?.[1]).toBeGreaterThanOrEqual(45);
});

test("other failures are returned, and the rest goes on", async () => {
  const done: number[] = [];
  const act = async (target: number): Promise<void> => {
    if (target === 3) throw new Error("refused");
    done.push(target);
  };
  const targets = Array.from({ length: 20 }, (_, index) => index);
  expect(await actOnEach(targets, act, new AbortController().signal)).toMatchObject([{ message: "refused" }]);
  expect(done).toHaveLength(19);
});

test("after the abort nothing more is sent, and a wait ends at once", async () => {
  const end = new AbortController();
  const sent: string[] = [];
  const { promise: allSent, resolve } = Promise.withResolvers<void>();
  const act = async (target: string): Promise<void> => {
    sent.push(target);
    if (sent.length === 6) resolve();
    throw limited(3600);
  };
  const acting = actOnEach([..."abcdefgh"], act, end.signal);
  await allSent;
  end.abort();
  expect(await acting).toEqual([]);
  expect(sent).toEqual([..."abcdef"]);
});
