import { appendFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { readAudit } from "../../../../src/audit/file/reader.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { LogPlace, loginOf } from "../log-place.ts";

/** Writes lines into four rotated files and the current one. */
async function rotated(): Promise<LogPlace> {
  const place = await LogPlace.make();
  for (let start = 0; start < 4; start++) {
    await place.write(
      Array.from({ length: 10 }, (_, index) => `user-${start * 10 + index}`),
      { maxBytes: 2_000 },
    );
  }
  return place;
}

async function pages(path: string, query: Parameters<typeof readAudit>[1]) {
  const all: Awaited<ReturnType<typeof readAudit>>[] = [];
  for (let cursor = query.cursor, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await readAudit(path, { ...query, cursor });
    all.push(page);
    cursor = page.next;
  }
  return all;
}

test("pages contain every kept line once, newest first, also across rotated files", async () => {
  await using place = await rotated();
  const whole = await readAudit(place.path, { limit: 1_000 });
  const sequences = whole.entries.map(({ seq = 0 }) => seq);
  const [newest = 0, oldest = 0] = [sequences[0], sequences.at(-1)];
  expect(newest).toBeGreaterThanOrEqual(40);
  expect(sequences).toEqual(Array.from({ length: newest - oldest + 1 }, (_, index) => newest - index));
  for (const limit of [1, 3, 7]) {
    const all = await pages(place.path, { limit });
    expect(all.every(({ entries }) => entries.length <= limit)).toBe(true);
    expect(all.flatMap(({ entries }) => entries.map(({ seq }) => seq))).toEqual(sequences);
  }
});

test("a cursor continues at its line after a rotation, without newer lines", async () => {
  await using place = await rotated();
  const whole = await readAudit(place.path, { limit: 1_000 });
  const { entries, next } = await readAudit(place.path, { limit: 5 });
  await place.write(["newer-1", "newer-2"], { maxBytes: 200 });
  const after = await pages(place.path, { limit: 4, cursor: next });
  const read = [...entries, ...after.flatMap((page) => page.entries)].map(({ seq }) => seq);
  // A rotation removes the oldest file.
  expect(whole.entries.map(({ seq }) => seq).slice(0, read.length)).toEqual(read);
  expect(read.length).toBeGreaterThan(5);
});

test("rotations during a read neither repeat nor hide a line", async () => {
  await using place = await rotated();
  await using audit = await place.open({ maxBytes: 2_000 });
  // Each goes on until there are enough of both, however long one of them takes.
  let [reads, rounds, isOver] = [0, 0, false];
  const readAll = async (): Promise<void> => {
    try {
      for (; reads <= 20 || rounds < 20; reads++) {
        const { entries } = await readAudit(place.path, { limit: 1_000 });
        const sequences = entries.map(({ seq = 0 }) => seq);
        const newest = sequences[0] ?? 0;
        expect(sequences).toEqual(sequences.map((_, index) => newest - index));
        expect(sequences.length).toBeGreaterThan(20);
      }
    } finally {
      isOver = true;
    }
  };
  const writeAll = async (): Promise<void> => {
    for (; !isOver; rounds++) {
      for (let index = 0; index < 8; index++) audit.write(loginOf(`user-${index}`));
      await audit.flushed();
    }
  };
  await Promise.all([readAll(), writeAll()]);
});

test("entries must match all filters; incomplete and foreign lines are left out", async () => {
  await using place = await LogPlace.make();
  await place.write(["ada", "bob", "ada"]);
  await appendFile(place.path, 'no line of ours\n{"seq":4,"time":"');
  const read = async (query: Parameters<typeof readAudit>[1]) =>
    (await readAudit(place.path, query)).entries.map(({ seq }) => seq);
  expect(await read({})).toEqual([3, 2, 1]);
  expect(await read({ user: "ada" })).toEqual([3, 1]);
  expect(await read({ user: "ada", action: "logout" })).toEqual([]);
  expect(await read({ session: "none" })).toEqual([]);
  const [first] = (await readAudit(place.path, {})).entries;
  const { time = "" } = first ?? {};
  expect(await read({ since: time })).toContain(3);
  expect(await read({ until: time })).not.toContain(3);
  expect(first).not.toHaveProperty("prev");
});

test("a cursor of a removed file gives an empty page; a log that is not a file is refused", async () => {
  await using place = await rotated();
  expect(await readAudit(place.path, { cursor: "999999.10" })).toEqual({ entries: [] });
  const refused = await readAudit("/dev/null", {}).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ServiceError);
  expect(refused).toMatchObject({ code: "not_found" });
});
