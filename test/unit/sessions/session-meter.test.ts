import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFiles, Journal } from "../../../src/sessions/journal/journal.ts";
import { SessionMeter } from "../../../src/sessions/session-meter.ts";
import { observationsOf } from "../observations.ts";

const MIB = 1024 * 1024;

test("pauses, failures and losses of a journal are counted and reported", async () => {
  const meter = new SessionMeter(() => 0);
  const heard: unknown[] = [];
  let fault: Error | undefined = new Error("full");
  const write = async (bytes: number): Promise<number> => {
    if (fault !== undefined) throw fault;
    return bytes;
  };
  const journal = new Journal(
    {
      ...{ maxBytes: 64 * MIB, meter },
      onPressure: (isHigh) => heard.push(isHigh),
      onFailure: (error) => heard.push(error),
      onGap: (gap) => heard.push(gap),
    },
    {
      writeOutput: ([first]) => write(first?.length ?? 0),
      writeEvents: ({ length }) => write(length),
      close: async () => {},
    },
  );
  journal.append(new Uint8Array(9 * MIB), 0);
  await journal.flushed();
  const error = fault;
  fault = undefined;
  await journal.retry();
  const gap = { from: 0, to: 9 * MIB };
  expect(meter).toMatchObject({ journalPauses: 1, journalFailures: 1, lostBytes: 9 * MIB });
  expect(heard).toEqual([true, false, error, gap]);
});

test("each batch that reaches the disk is timed", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-meter-"));
  let time = 0;
  const meter = new SessionMeter(() => {
    time += 250;
    return time;
  });
  const files = { output: join(folder.path, "output"), events: join(folder.path, "events") };
  const options = {
    maxBytes: 1_000,
    onPressure: () => undefined,
    onFailure: (error: unknown) => {
      throw error;
    },
    onGap: () => undefined,
    meter,
  };
  const journal = new Journal(options, await createFiles(files));
  journal.append(new TextEncoder().encode("abc"), 0);
  await journal.flushed();
  await journal.close();
  const { count, sum } = await observationsOf(meter.journalWrites);
  expect(count).toBeGreaterThan(0);
  expect(sum).toBe(count * 0.25);
});
