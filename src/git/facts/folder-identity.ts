import { statSync } from "node:fs";

/** Which folder is at a path: of another one at the same path it is another. `undefined`: there is none, or we may not look. */
export function folderIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}
