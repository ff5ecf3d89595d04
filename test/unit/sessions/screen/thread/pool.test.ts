import { existsSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Screen, ScreenSource, ScreenView } from "../../../../../src/sessions/screen/thread/message.ts";
import { ScreenPool } from "../../../../../src/sessions/screen/thread/pool.ts";
import { ScreenJournal } from "../../screen-journal.ts";

const RESYNC: ScreenView = { kind: "resync", isScreenOnly: false };
const TEXT: ScreenView = { kind: "text", scrollback: false, styles: false };
const MIB = 1024 * 1024;

/** Nothing of it can be left out. */
function drawing(length: number): string {
  return "\x1b[Hall of this is parsed\r\n".repeat(length / 25);
}

function textOf({ bytes }: Screen): string {
  return new TextDecoder().decode(bytes);
}

class Asker implements Disposable {
  /** Ids of sessions in the order in which they were answered. */
  readonly answered: string[] = [];
  readonly #pool: ScreenPool;

  constructor(options: { idleMs?: number; maxTerminals?: number } = {}) {
    this.#pool = new ScreenPool({ idleMs: 60_000, maxTerminals: 32, ...options }, () => performance.now());
  }

  async ask(source: ScreenSource, view = TEXT): Promise<Screen> {
    const screen = await this.#pool.view(source, view);
    this.answered.push(source.id);
    return screen;
  }

  forget(id: string): void {
    this.#pool.forget(id);
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
  }
}

test("long output of one session does not delay others", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker();
  const long = journal.source(drawing(4 * MIB));
  const short = journal.source("short");
  const screens = [asker.ask(long), asker.ask(short)];
  expect((await Promise.all(screens)).map(textOf)).toEqual(["all of this is parsed", "short"]);
  expect(asker.answered).toEqual([short.id, long.id]);
});

test("concurrent views of one session share one drawing", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker();
  const source = journal.source("one two");
  const [first, second, text] = await Promise.all([
    asker.ask({ ...source, upTo: 3 }, RESYNC),
    asker.ask(source, RESYNC),
    asker.ask(source),
  ]);
  expect(first.offset).toBe(7);
  expect(second.bytes).toBe(first.bytes);
  expect(textOf(text)).toBe("one two");
});

test("a view of later output does not delay earlier views", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker();
  const source = journal.source(drawing(MIB));
  const first = asker.ask({ ...source, upTo: 100 });
  await new Promise((resolve) => setImmediate(resolve));
  const second = asker.ask(source);
  expect((await first).offset).toBe(100);
  expect((await second).offset).toBe(source.upTo);
});

test("a new size without output is seen", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker();
  const source = journal.source("0123456789");
  expect((await asker.ask(source)).size).toEqual({ cols: 80, rows: 24 });
  const sizes = [...source.sizes, { offset: 10, cols: 5, rows: 2 }];
  const [before, after] = await Promise.all([asker.ask(source), asker.ask({ ...source, sizes })]);
  expect(before.offset).toBe(10);
  expect(after.size).toEqual({ cols: 5, rows: 2 });
});

test("over the limit the least recently used terminal is dropped, with a checkpoint", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker({ maxTerminals: 2 });
  const sources = ["one", "two", "three"].map(() => journal.source(drawing(MIB / 8)));
  for (const source of sources) await asker.ask(source);
  await new Promise((resolve) => setImmediate(resolve));
  expect(sources.map(({ checkpointPath }) => existsSync(checkpointPath))).toEqual([true, false, false]);
});

test("more sessions than terminals are all answered", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker({ maxTerminals: 2 });
  const sources = Array.from({ length: 9 }, (_, index) => journal.source(`screen ${index}`));
  const screens = await Promise.all(sources.map((source) => asker.ask(source)));
  expect(screens.map(textOf)).toEqual(sources.map((_, index) => `screen ${index}`));
});

test("an idle terminal is dropped", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker({ idleMs: 20 });
  const source = journal.source(drawing(MIB / 8));
  await asker.ask(source);
  await expect.poll(() => existsSync(source.checkpointPath)).toBe(true);
});

test("a checkpoint is written after a mebibyte", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker();
  const [long, short] = [journal.source(drawing(1.1 * MIB)), journal.source(drawing(MIB / 8))];
  await Promise.all([asker.ask(long), asker.ask(short)]);
  expect([long, short].map(({ checkpointPath }) => existsSync(checkpointPath))).toEqual([true, false]);
});

test("unreadable output fails only the pending views", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker();
  const source = journal.source("text");
  const broken = asker.ask({ ...source, upTo: 100 });
  const other = asker.ask(journal.source("other"));
  await expect(broken).rejects.toThrow("ends at byte 4");
  expect(textOf(await other)).toBe("other");
  expect(textOf(await asker.ask(source))).toBe("text");
});

test("a forgotten session starts over", async () => {
  using journal = new ScreenJournal();
  using asker = new Asker();
  const source = journal.source("old text");
  await asker.ask(source);
  const waiting = asker.ask(source);
  asker.forget(source.id);
  await expect(waiting).rejects.toThrow("gone");
  writeFileSync(source.output, "new text");
  expect(textOf(await asker.ask(source))).toBe("new text");
});
