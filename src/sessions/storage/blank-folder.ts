// What a host leaves that dies between making the folder of a session and storing what the session is.
import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { fileBytes, readEvents } from "../journal/reader.ts";
import type { SessionFiles } from "./control-dir.ts";
import { folderRemoval } from "./removed-folder.ts";

/** Room for the size that a terminal begins with, which is recorded at once. */
const FIRST_EVENT_BYTES = 64;

/** Removes the folder where there is nothing in it that anybody may want, so that a session can have that id again. */
export async function removeIfBlank(files: SessionFiles): Promise<void> {
  if (await isBlank(files)) await folderRemoval(files.directory)();
}

/** No record, no output, no event but of a size, and nothing that is not ours. */
async function isBlank(files: SessionFiles): Promise<boolean> {
  const journal = [files.output, files.events].map((path) => basename(path));
  const isDraft = (name: string): boolean =>
    name.startsWith(`.${basename(files.record)}.`) && name.endsWith(".tmp");
  const names = await readdir(files.directory);
  if (!names.every((name) => journal.includes(name) || isDraft(name))) return false;
  if ((await fileBytes(files.output)) > 0 || (await fileBytes(files.events)) > FIRST_EVENT_BYTES)
    return false;
  for await (const { kind } of readEvents(files)) if (kind !== "r") return false;
  return true;
}
