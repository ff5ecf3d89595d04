import { access } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Whether a folder may be in a repository: `false` is certain, and costs no process. Most sessions of most people begin
 * in a home directory, which is none.
 */
export async function isLikelyRepository(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    const marks = [join(at, ".git"), join(at, "HEAD")];
    if ((await Promise.all(marks.map(isThere))).includes(true)) return true;
    if (dirname(at) === at) return false;
  }
}

/** Of what cannot be seen git is asked. */
async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    (error: unknown) => !(error instanceof Error && "code" in error && ABSENT.has(String(error.code))),
  );
}

const ABSENT = new Set(["ENOENT", "ENOTDIR"]);
