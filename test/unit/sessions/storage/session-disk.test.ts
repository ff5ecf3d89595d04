// The files of sessions on a disk that is not right for a while.
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { folderRemoval } from "../../../../src/sessions/storage/session-folder.ts";
import { triedWithoutDescriptors } from "../without-descriptors.ts";

const SOURCE = new URL("../../../../src/", import.meta.url).href;

/** A folder that has a file in it. */
async function sessionFolder(): Promise<string> {
  const sessions = await mkdtemp(join(tmpdir(), "ttyhq-session-disk-"));
  onTestFinished(() => rm(sessions, { recursive: true, force: true }));
  const directory = join(sessions, "one");
  await mkdir(directory);
  await writeFile(join(directory, "output"), "12345");
  return directory;
}

test("failed removals are retried, and spare another session with that id", async () => {
  const directory = await sessionFolder();
  const before = `
    import { mkdirSync, readdirSync } from "node:fs";
    import { DiskCare } from "${SOURCE}lib/fs/disk-care.ts";
    import { SessionDisk } from "${SOURCE}sessions/storage/session-disk.ts";
    const right = Promise.withResolvers();
    const log = { info: right.resolve, error() {} };
    const care = new DiskCare({ log, path: "/", now: () => performance.now() });
    const disk = new SessionDisk(log, care);
    const session = { screenId: "one", files: { directory: "${directory}" } };
    let removing;
    const attempt = async () => {
      if (removing === undefined) {
        removing = disk.remove(session);
        return await removing.then(() => "removed", ({ code }) => code);
      }
      mkdirSync("${directory}");
      const alive = setInterval(() => {}, 60_000);
      await right.promise;
      clearInterval(alive);
      return readdirSync("${dirname(directory)}").join("+");
    };
  `;
  expect(await triedWithoutDescriptors(before, "attempt()")).toBe("EMFILE,one");
});

test("a folder that could not be renamed is removed by the retry", async () => {
  const directory = await sessionFolder();
  const sessions = dirname(directory);
  await rm(sessions, { recursive: true });
  await writeFile(sessions, "no directory");
  const remove = folderRemoval(directory);
  await expect(remove()).rejects.toMatchObject({ code: "ENOTDIR" });
  await rm(sessions);
  await mkdir(directory, { recursive: true });
  await remove();
  expect(await readdir(sessions)).toEqual([]);
});
