// The writing end of a journal, on a disk in memory.
import { expect, onTestFinished, test } from "vitest";
import { concatBytes } from "../../../../src/lib/data/collect.ts";
import { Journal } from "../../../../src/sessions/journal/journal.ts";
import { SessionMeter } from "../../../../src/sessions/session-meter.ts";

/** Batches of a flood, after which a test is over in any case. */
const FLOOD_BATCHES = 300;
const PIECE = new TextEncoder().encode("piece");

/** A disk that refuses while `fault` is set; `onOutput` is called with each batch of output, before that is taken. */
class MemoryDisk {
  readonly output: Uint8Array[] = [];
  readonly events: string[] = [];
  fault: Error | undefined;
  isClosed = false;
  onOutput: () => void = () => {};

  get text(): string {
    return new TextDecoder().decode(concatBytes(this.output));
  }

  async writeOutput(pieces: Uint8Array[]): Promise<number> {
    const bytes = concatBytes(pieces);
    await this.#taken();
    this.onOutput();
    this.output.push(bytes);
    return bytes.length;
  }

  async writeEvents(lines: Uint8Array): Promise<number> {
    const text = new TextDecoder().decode(lines);
    await this.#taken();
    if (lines.length === 0) throw new Error("nothing was taken");
    this.events.push(text);
    return lines.length;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  async #taken(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.fault !== undefined) throw this.fault;
  }
}

/** `flood`: from now on there is more to write with each batch. */
function stage() {
  const disk = new MemoryDisk();
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  const meter = new SessionMeter(() => 0);
  const options = { maxBytes: 1_000_000, meter, onPressure: () => {}, onGap: () => {}, onFailure };
  const journal = new Journal(options, disk);
  const flood = (): void => {
    disk.onOutput = () => {
      if (disk.output.length < FLOOD_BATCHES) journal.append(PIECE, 0);
    };
    journal.append(PIECE, 0);
  };
  onTestFinished(() => {
    disk.fault = undefined;
    disk.onOutput = () => {};
    return journal.close();
  });
  return { disk, journal, failures, flood };
}

test("flushing waits for earlier output only", async () => {
  const { disk, journal, flood } = stage();
  flood();
  journal.note({ time: 0, offset: PIECE.length, kind: "m", data: "mark" });
  await journal.flushed();
  expect(disk.events.join("")).toContain("mark");
  expect(disk.output.length).toBeLessThan(3);
});

test("a journal closes after its last write", async () => {
  const { disk, journal } = stage();
  for (let pieces = 0; pieces < 10; pieces++) journal.append(PIECE, 0);
  await journal.close();
  expect(disk.isClosed).toBe(true);
  expect(disk.text).toBe("piece".repeat(10));
});

test("a failure ends when the refused output is written, whatever follows it", async () => {
  const { disk, journal, failures, flood } = stage();
  disk.fault = new Error("full");
  journal.append(PIECE, 0);
  await journal.flushed();
  await expect(journal.retry()).rejects.toThrow("full");
  disk.fault = undefined;
  flood();
  await journal.retry();
  expect(journal.failure).toBeUndefined();
  expect(failures).toHaveLength(1);
  expect(disk.output.length).toBeLessThan(3);
});

test("a failure continues while a part of the refused output is unwritten", async () => {
  const { disk, journal, failures } = stage();
  disk.fault = new Error("full");
  journal.append(PIECE, 0);
  await journal.flushed();
  disk.fault = undefined;
  disk.onOutput = () => {
    disk.fault = new Error("full again");
  };
  await expect(journal.retry()).rejects.toThrow("full again");
  expect(disk.text).toBe("piece");
  expect(failures).toHaveLength(1);
});

test("lost records without output leave no gap", async () => {
  const { disk, journal } = stage();
  disk.fault = new Error("full");
  for (let typed = 0; typed < 20_000; typed++) {
    journal.note({ time: 0, offset: 0, kind: "i", data: `${typed}` });
    if (typed === 0) await journal.flushed();
  }
  disk.fault = undefined;
  await journal.retry();
  expect(journal.failure).toBeUndefined();
  expect(journal.gaps).toEqual([]);
  const lines = disk.events.join("");
  expect(lines).not.toContain('"1"');
  expect(lines).toContain('"19999"');
});

test("a failed journal closes with the retry that writes the rest", async () => {
  const { disk, journal } = stage();
  disk.fault = new Error("full");
  journal.append(PIECE, 0);
  await journal.close();
  expect(disk.isClosed).toBe(false);
  disk.fault = undefined;
  await journal.retry();
  expect(disk.isClosed).toBe(true);
  expect(disk.text).toBe("piece");
});

test("what is in memory after the size limit has no hole, however much was dropped while the disk refused", async () => {
  const { disk, journal } = stage();
  disk.fault = new Error("full");
  journal.append(new Uint8Array(1_000_000), 0);
  await journal.flushed();
  for (let piece = 0; piece < 5; piece++) journal.append(new Uint8Array(1024 * 1024), 0);
  const end = 1_000_000 + 5 * 1024 * 1024;
  const { heldFrom } = journal;
  expect(heldFrom).toBeGreaterThan(1_000_000);
  expect(concatBytes(journal.read(heldFrom, end)).length).toBe(end - heldFrom);
});
