import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The inputs of dist/, from the root of the project: files, and folders with all their content. */
const FILES = ["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];
const FOLDERS = ["src", "scripts"];

/**
 * A hash of the names and contents of all sources in `root`, as hex. It ignores times, because git sets them
 * arbitrarily and a removed file leaves none.
 */
export async function sourceFingerprint(root: string): Promise<string> {
  const hash = createHash("sha256");
  const inFolders = await Promise.all(FOLDERS.map((folder) => filesIn(root, folder)));
  for (const file of [...FILES, ...inFolders.flat()].sort((a, b) => (a < b ? -1 : 1))) {
    const bytes = await readFile(join(root, file));
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest("hex");
}

async function filesIn(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}
