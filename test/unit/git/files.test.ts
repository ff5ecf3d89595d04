import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publish } from "../../../src/git/worker/files.ts";

async function folder(parent = tmpdir()): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(parent, "ttyhq-files-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

test("a taken name gets a number before its extension, within the length limit", async () => {
  await using place = await folder();
  const draft = join(place.path, "draft");
  await writeFile(draft, "");
  const long = `${"é".repeat(125)}.html`;
  const names = ["a.tar.gz", "a.tar.gz", ".env", ".env", long, long];
  const paths: string[] = [];
  for (const name of names) paths.push(await publish(draft, place.path, name));
  expect(paths.map((path) => path.slice(place.path.length + 1))).toEqual([
    ...["a.tar.gz", "a.tar-2.gz", ".env", ".env-2"],
    ...[long, `${"é".repeat(124)}-2.html`],
  ]);
});

test("a file that cannot be linked is copied, and replaces no other file", async () => {
  await using place = await folder();
  // Another file system, on Linux.
  await using elsewhere = await folder(process.platform === "linux" ? "/dev/shm" : tmpdir());
  const draft = join(elsewhere.path, "draft");
  await writeFile(draft, "new");
  await writeFile(join(place.path, "a"), "old");
  expect(await publish(draft, place.path, "a")).toBe(join(place.path, "a-2"));
  expect(await readFile(join(place.path, "a-2"), "utf8")).toBe("new");
  expect((await readdir(place.path)).sort()).toEqual(["a", "a-2"]);
});
