import { expect, test } from "vitest";
import { actOnEach } from "../../../../src/protocol/client/act-on-each.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

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
  expect((await actOnEach(["a", "b", "c"], act)).failures).toEqual([]);
  expect(sent.map(([name]) => name)).toEqual(["a", "b", "c", "a"]);
  expect(sent.at(-1)?.[1]).toBeGreaterThanOrEqual(45);
});

test("other failures are returned, and the rest goes on; both have the order of the targets", async () => {
  const first = Promise.withResolvers<void>();
  const act = async (target: number): Promise<string> => {
    if (target === 0) await first.promise;
    if (target === 19) first.resolve();
    if (target % 10 === 3) throw new Error("refused");
    return `done ${target}`;
  };
  const targets = Array.from({ length: 20 }, (_, index) => index);
  expect(await actOnEach(targets, act)).toEqual({
    results: targets.filter((target) => target % 10 !== 3).map((target) => `done ${target}`),
    failures: [3, 13].map((target) => ({ target, error: new Error("refused") })),
  });
});

test("after the abort nothing more is sent, and a wait ends at once", async () => {
  const end = new AbortController();
  const sent: string[] = [];
  const { promise: allSent, resolve } = Promise.withResolvers<void>();
  const act = async (target: string): Promise<void> => {
    sent.push(target);
    if (sent.length === 6) resolve();
    throw limited(60);
  };
  const acting = actOnEach([..."abcdefgh"], act, end.signal);
  await allSent;
  end.abort();
  expect(await acting).toEqual({ results: [], failures: [] });
  expect(sent).toEqual([..."abcdef"]);
});

test.each([86_400, 0])(
  "a server that refuses with a wait of %i s without end holds up no other",
  async (seconds) => {
    const act = async (target: number): Promise<number> => {
      if (target < 6) throw limited(seconds);
      return target;
    };
    const { results, failures } = await actOnEach([0, 1, 2, 3, 4, 5, 6, 7], act);
    expect(results).toEqual([6, 7]);
    expect(failures.map(({ target }) => target)).toEqual([0, 1, 2, 3, 4, 5]);
  },
);
