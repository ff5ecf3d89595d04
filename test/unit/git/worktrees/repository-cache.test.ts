import { expect, test } from "vitest";
import { RepositoryCache } from "../../../../src/git/worktrees/repository-cache.ts";

function cache(): {
  cache: RepositoryCache<number>;
  pass(ms: number): void;
  found(commonDir?: string): () => Promise<{ commonDir: string; value: number }>;
  asked(): number;
} {
  let [now, count] = [0, 0];
  return {
    cache: new RepositoryCache<number>({ lifetimeMs: 5_000, maxEntries: 2, now: () => now }),
    pass: (ms) => {
      now += ms;
    },
    found:
      (commonDir = "/a") =>
      async () => ({ commonDir, value: ++count }),
    asked: () => count,
  };
}

test("what was found is told again for as long as it is kept", async () => {
  const { cache: kept, pass, found } = cache();
  expect(await kept.get("k", found())).toBe(1);
  pass(4_999);
  expect(await kept.get("k", found())).toBe(1);
  pass(1);
  expect(await kept.get("k", found())).toBe(2);
});

test("what several ask for at once is found out once", async () => {
  const { cache: kept, found } = cache();
  expect(await Promise.all([kept.get("k", found()), kept.get("k", found())])).toEqual([1, 1]);
});

test("a change forgets all that is known of that repository, by whatever key, and of no other", async () => {
  const { cache: kept, found } = cache();
  await kept.get("k", found("/a"));
  await kept.get("l", found("/b"));
  kept.forget("/a");
  expect(await kept.get("l", found("/b"))).toBe(2);
  expect(await kept.get("k", found("/a"))).toBe(3);
});

test("what was being found out when something changed is not told to whoever asks later", async () => {
  const { cache: kept, found } = cache();
  const gate = Promise.withResolvers<void>();
  const early = kept.get("k", async () => {
    await gate.promise;
    return { commonDir: "/a", value: 100 };
  });
  kept.forget("/other");
  expect(await kept.get("k", found())).toBe(1);
  gate.resolve();
  expect(await early).toBe(100);
  expect(await kept.get("k", found())).toBe(1);
});

test("what failed is not kept", async () => {
  const { cache: kept, found } = cache();
  await expect(kept.get("k", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await kept.get("k", found())).toBe(1);
});

test("what was found out longest ago goes first where there is too much", async () => {
  const { cache: kept, found, asked } = cache();
  for (const key of ["a", "b", "c"]) await kept.get(key, found());
  await kept.get("b", found());
  expect(asked()).toBe(3);
  await kept.get("a", found());
  expect(asked()).toBe(4);
});
