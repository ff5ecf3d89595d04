import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";

test("a condition without events is polled until it holds", async () => {
  let checks = 0;
  const check = async () => (++checks === 3 ? "found" : undefined);
  expect(await eventually(check, "it")).toBe("found");
});

test("a failing check is repeated, and the last failure is reported", async () => {
  const cause = new Error("connection refused");
  const failing = eventually(
    () => Promise.reject(cause),
    "an answer",
    { timeoutMs: 80 },
    () => "the log",
  );
  await expect(failing).rejects.toThrow(
    expect.objectContaining({
      message: "an answer did not come within 80 ms: connection refused\nthe log",
      cause,
    }),
  );
});

test("a cancelled call rejects with the given reason", async () => {
  const stop = new AbortController();
  const waiting = eventually(async () => undefined, "it", { signal: stop.signal });
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});
