import fc from "fast-check";
import { expect, test } from "vitest";
import { Semaphore } from "../../../../src/lib/async/semaphore.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

const full = () => new ServiceError("rate_limited", "full");
const limits = { permits: 2, maxWaiting: 3, maxWaitMs: 10_000, full };

test("concurrent work is limited, and starts in the order of the calls", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.nat(3), { maxLength: 30 }),
      async (permits, tasks) => {
        const places = new Semaphore({ ...limits, permits, maxWaiting: 30 });
        const begun: number[] = [];
        let running = 0;
        const work = tasks.map((length, index) =>
          places.take(async () => {
            begun.push(index);
            expect(++running).toBeLessThanOrEqual(permits);
            for (let turn = 0; turn < length; turn++) await Promise.resolve();
            running--;
            return index;
          }),
        );
        expect(await Promise.all(work)).toEqual([...tasks.keys()]);
        expect(begun).toEqual([...tasks.keys()]);
      },
    ),
  );
});

test("failed work releases its permit", async () => {
  const places = new Semaphore({ ...limits, permits: 1 });
  await expect(places.take(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const later = [1, 2, 3].map((each) =>
    places.take(() => (each === 2 ? Promise.reject(full()) : Promise.resolve(each))),
  );
  expect((await Promise.allSettled(later)).map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
});

test("a call beyond the waiting limit is refused", async () => {
  const places = new Semaphore(limits);
  const gate = Promise.withResolvers<void>();
  const taken = [1, 2, 3, 4, 5].map((each) => places.take(() => gate.promise.then(() => each)));
  await expect(places.take(async () => 6)).rejects.toMatchObject({ code: "rate_limited" });
  gate.resolve();
  expect(await Promise.all(taken)).toEqual([1, 2, 3, 4, 5]);
  expect(await places.take(async () => 7)).toBe(7);
});

test("a call that waits too long is refused, and later ones still run", async () => {
  const places = new Semaphore({ ...limits, permits: 1, maxWaitMs: 20 });
  const gate = Promise.withResolvers<void>();
  const first = places.take(() => gate.promise);
  await expect(places.take(async () => 2)).rejects.toMatchObject({ code: "rate_limited" });
  const third = places.take(async () => 3);
  gate.resolve();
  await first;
  expect(await third).toBe(3);
});
