import { expect, test } from "vitest";
import { untilStopped } from "../../../src/cli/until-stopped.ts";

function service(stop: () => Promise<void>): AsyncDisposable {
  return { [Symbol.asyncDispose]: stop };
}

const atOnce = async (): Promise<void> => undefined;

test("a service that has ended is stopped, and its stop is awaited", async () => {
  const steps: string[] = [];
  const stop = async (): Promise<void> => {
    await Promise.resolve();
    steps.push("stopped");
  };
  await untilStopped(async () => service(stop), { signals: [], graceMs: 20_000 }, atOnce);
  expect(steps).toEqual(["stopped"]);
});

test("a stop that exceeds the grace period is reported with a remedy", async () => {
  const { promise } = Promise.withResolvers<void>();
  await expect(
    untilStopped(async () => service(() => promise), { signals: [], graceMs: 10 }, atOnce),
  ).rejects.toThrow("not stopped in good order within 0.01 s: give it longer with --grace");
});

test("an error during the stop is thrown", async () => {
  const stop = (): Promise<void> => Promise.reject(new Error("the disk is gone"));
  await expect(
    untilStopped(async () => service(stop), { signals: [], graceMs: 20_000 }, atOnce),
  ).rejects.toThrow("the disk is gone");
});
