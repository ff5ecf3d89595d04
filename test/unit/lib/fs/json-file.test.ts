import { chmod, mkdtempDisposable, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  createFileOnce,
  readJsonFile,
  replaceFile,
  writeJsonFile,
} from "../../../../src/lib/fs/atomic-file.ts";

const Count = z.object({ count: z.number() });
const parse = (value: unknown): z.infer<typeof Count> => Count.parse(value);
const scratch = () => mkdtempDisposable(join(tmpdir(), "ttyhq-json-"));

test("a written value is read back, and only the owner can read the file", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "count.json");
  await writeJsonFile(path, { count: 1 }, 0o600);
  expect(await readJsonFile(path, parse)).toEqual({ count: 1 });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("a missing file is undefined", async () => {
  await using directory = await scratch();
  expect(await readJsonFile(join(directory.path, "none.json"), parse)).toBeUndefined();
});

test.each(["", "{", '{"count":"one"}'])("a file that holds %j is an error that names it", async (text) => {
  await using directory = await scratch();
  const path = join(directory.path, "count.json");
  await writeFile(path, text);
  await expect(readJsonFile(path, parse)).rejects.toThrow(`${path} is damaged`);
});

test("replacing sets the mode and leaves no draft", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "count.json");
  await writeFile(path, "old");
  await chmod(path, 0o644);
  await writeJsonFile(path, { count: 2 }, 0o600);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(directory.path)).toEqual(["count.json"]);
});

test("a failed write leaves the old content and no draft", async () => {
  await using directory = await scratch();
  const target = join(directory.path, "target");
  await writeJsonFile(join(directory.path, "a.json"), 1, 0o600);
  // A directory in the way makes the rename fail after the draft was written.
  await writeFile(target, "old");
  await expect(replaceFile(join(target, "x.json"), new Uint8Array(1), 0o600)).rejects.toThrow();
  await expect(replaceFile(directory.path, new Uint8Array(1), 0o600)).rejects.toThrow();
  expect(await readdir(directory.path)).toEqual(["a.json", "target"]);
});

test("readers see a complete value while many write", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "count.json");
  await writeJsonFile(path, { count: -1, filler: "x".repeat(50_000) }, 0o600);
  const writes = Array.from({ length: 20 }, (_, count) =>
    writeJsonFile(path, { count, filler: "y".repeat(50_000) }, 0o600),
  );
  const reads = Array.from({ length: 40 }, () => readJsonFile(path, parse));
  await Promise.all(writes);
  for (const value of await Promise.all(reads)) expect(value?.count).toBeGreaterThanOrEqual(-1);
});

test("concurrent creations of a file all return the same bytes", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "secret");
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, index) => createFileOnce(path, Uint8Array.of(index), 0o600)),
  );
  const kept = new Uint8Array(await readFile(path));
  for (const bytes of made) expect(new Uint8Array(bytes)).toEqual(kept);
  expect(await readdir(directory.path)).toEqual(["secret"]);
});
