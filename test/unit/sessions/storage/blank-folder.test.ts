import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { eventLine } from "../../../../src/sessions/journal/event.ts";
import { openControlDir } from "../../../../src/sessions/storage/control-dir.ts";
import { recoverSessions } from "../../../../src/sessions/storage/recovery.ts";

const SIZE = eventLine({ time: 0, offset: 0, kind: "r", data: "1000x1000" });
const MARK = eventLine({ time: 0, offset: 0, kind: "m", data: "here" });

/** The names of folders that recovery leaves, and of those that it told of, where the folder `name` holds `files`. */
async function leftOf(files: Readonly<Record<string, string>>, name = "one") {
  const path = await mkdtemp(join(tmpdir(), "ttyhq-blank-folder-"));
  onTestFinished(() => rm(path, { recursive: true }));
  const controlDir = openControlDir(path);
  const { directory } = controlDir.session(name);
  await mkdir(directory);
  for (const [file, text] of Object.entries(files)) await writeFile(join(directory, file), text);
  const told: string[] = [];
  expect(await recoverSessions(controlDir, (id) => told.push(id))).toEqual([]);
  return { told, left: await readdir(controlDir.sessions) };
}

test.each([
  {},
  { output: "" },
  { output: "", events: "", "session.json": "" },
  { output: "", events: SIZE },
  { output: "", events: SIZE.slice(0, 5), ".session.json.1-2.tmp": "{" },
])("the id of a session whose host died before it had anything to say is free again: %o", async (files) => {
  expect(await leftOf(files)).toEqual({ told: ["one"], left: [] });
});

test.each([
  { output: "a" },
  { output: "", events: `${SIZE}${MARK}` },
  { output: "", events: "?".repeat(100) },
  { output: "", "session.json": "{" },
  { output: "", "recording.cast": "{}" },
  { "somebody's": "" },
])("what somebody may want stays: %o", async (files) => {
  expect(await leftOf(files)).toEqual({ told: ["one"], left: ["one"] });
});

test("an empty folder whose name is no session id is somebody else's", async () => {
  expect(await leftOf({}, "lost+found")).toEqual({ told: [], left: ["lost+found"] });
});
