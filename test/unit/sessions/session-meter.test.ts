import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Journal } from "../../../src/sessions/journal/journal.ts";
import { SessionMeter } from "../../../src/sessions/session-meter.ts";
import { openControlDir } from "../../../src/sessions/storage/control-dir.ts";
import { observationsOf } from "../observations.ts";

test("what becomes of a journal is counted, and told on", () => {
  const meter = new SessionMeter(() => 0);
  const heard: unknown[] = [];
  const files = openControlDir("/nowhere").session("s");
  const { onPressure, onFailure, onGap } = meter.ofJournal({
    ...{ files, maxBytes: 1 },
    onPressure: (isHigh) => heard.push(isHigh),
    onFailure: (error) => heard.push(error),
    onGap: (gap) => heard.push(gap),
  });
  onPressure(true);
  onPressure(false);
  onFailure("full");
  onGap({ from: 2, to: 7 });
  expect(meter).toMatchObject({ journalPauses: 1, journalFailures: 1, lostBytes: 5 });
  expect(heard).toEqual([true, false, "full", { from: 2, to: 7 }]);
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
    files: { ...openControlDir(folder.path).session("s"), ...files },
    maxBytes: 1_000,
    onPressure: () => undefined,
    onFailure: (error: unknown) => {
      throw error;
    },
    onGap: () => undefined,
  };
  const journal = await Journal.create(meter.ofJournal(options));
  journal.append(new TextEncoder().encode("abc"), 0);
  await journal.flushed();
  await journal.close();
  const { count, sum } = await observationsOf(meter.journalWrites);
  expect(count).toBeGreaterThan(0);
  expect(sum).toBe(count * 0.25);
});
