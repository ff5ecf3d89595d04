import { expect, test } from "vitest";
import { KeyedMutex } from "../../../../src/lib/async/mutex.ts";

test("work of one key runs in order, of other keys concurrently", async () => {
  const mutex = new KeyedMutex();
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = mutex.take("a", async () => {
    await gate.promise;
    done.push("a1");
  });
  const second = mutex.take("a", async () => void done.push("a2"));
  await mutex.take("b", async () => void done.push("b"));
  gate.resolve();
  await Promise.all([first, second]);
  expect(done).toEqual(["b", "a1", "a2"]);
});

test("failed work blocks nothing, and its caller gets the error", async () => {
  const mutex = new KeyedMutex();
  const failed = mutex.take("a", () => Promise.reject(new Error("no")));
  const next = mutex.take("a", async () => "done");
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("done");
});
